import Testing
import VaultModel

@testable import VaultService

@Suite("When the files of a TLS listener are read again")
struct TLSRenewalTests {
    private func stamp(_ certificate: UInt64?, _ key: UInt64?) -> TLSFiles.Stamp {
        func file(_ number: UInt64?) -> FileStamp? {
            number.map { FileStamp(device: 1, number: $0, size: 100, changed: [0, 0]) }
        }
        return TLSFiles.Stamp(certificate: file(certificate), key: file(key))
    }

    @Test("Files are read once after they have changed and then stayed the same between two checks")
    func looks() {
        var renewal = TLSRenewal(read: stamp(1, 1))
        let looks: [(TLSFiles.Stamp, Bool)] = [
            (stamp(1, 1), false), (stamp(1, 1), false),
            // The certificate changes first, then the key.
            (stamp(2, 1), false), (stamp(2, 2), false), (stamp(2, 2), true), (stamp(2, 2), false),
            // The key is missing for a moment.
            (stamp(2, nil), false), (stamp(2, 2), false), (stamp(2, 2), false),
        ]
        for (number, (stamp, expected)) in looks.enumerated() {
            let isDue = renewal.isDue(stamp)
            #expect(isDue == expected, "look \(number)")
            if isDue { renewal.succeed(stamp) }
        }
    }

    @Test("Files that could not be used are read again at each check, and reported once")
    func failures() {
        var renewal = TLSRenewal(read: stamp(1, 1))
        var told: [Bool] = []
        for look in [stamp(2, 1), stamp(2, 1), stamp(2, 1), stamp(2, nil), stamp(2, nil), stamp(2, nil)]
        where renewal.isDue(look) { told.append(renewal.fail(look)) }
        #expect(told == [true, false, true, false])
        let isDue = renewal.isDue(stamp(2, nil))
        renewal.succeed(stamp(2, nil))
        let isDueStill = renewal.isDue(stamp(2, nil))
        #expect(isDue && !isDueStill)
    }
}
