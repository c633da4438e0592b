import Testing
import VaultModel

@testable import VaultCrypto

@Suite("A new root key comes with a new receipt key, and the log stays sound")
struct ReceiptKeyTests {
    private let fixture: KeyringFixture
    /// The keyring before and after the new root key.
    private let (former, own): (Keyring, Keyring)
    /// Two lines of the former key, the line that both keys sign, and two lines of the new key.
    private let lines: [[UInt8]]

    init() throws {
        fixture = try KeyringFixture()
        let keyring = try fixture.unlock()
        let file = fixture.file
        var lines: [[UInt8]] = []
        for number in 1...2 { lines.append(try Self.line(number, after: lines.last, by: keyring)) }
        let (both, new) = try Self.renewing(keyring, of: file, 3, after: lines[1])
        lines.append(both)
        for number in 4...5 { lines.append(try Self.line(number, after: lines.last, by: keyring)) }
        self.lines = lines
        former = try fixture.unlock()
        own = new
    }

    /// Creates a new root key; returns the line that both keys sign, and the keyring that is then in the file.
    private static func renewing(
        _ keyring: Keyring, of file: [UInt8], _ number: Int, after last: [UInt8]
    ) throws -> (line: [UInt8], keyring: Keyring) {
        var (line, written): ([UInt8], [UInt8]) = ([], [])
        try keyring.change(reading: { file }) { edit in
            _ = try edit.renewRoot(
                openedBy: [SharedSecret(.key(SecretKey(KeyringFixture.keyBytes)))], droppingOthers: false, now: 1)
            line = try Self.line(number, after: last, by: keyring, with: edit)
        } writing: {
            written = $0.bytes
        }
        return (line, try KeyringFixture(file: written).unlock())
    }

    private static func line(
        _ number: Int, after last: [UInt8]?, by keyring: Keyring, with edit: KeyringEdit? = nil
    ) throws -> [UInt8] {
        let receipt = Receipt(
            sequence: Int64(number), time: 1, act: .rotateRoot, outcome: .done, generation: 1, subject: nil,
            resources: nil)
        return try KeyringReceipts(keyring).sign(
            receipt, previous: last.map { ReceiptLine.hash(of: $0) } ?? ReceiptLine.firstPrevious, with: edit)
    }

    private func faults(_ lines: [[UInt8]], _ keyring: Keyring?, counting sequence: Int64 = 0) throws -> [AuditFault] {
        let anchor = try keyring.map {
            AuditChecker.Anchor(
                vaultID: $0.vaultID, publicKey: try KeyringReceipts($0).anchor().publicKey, sequence: sequence)
        }
        return AuditChecker.report(on: lines.flatMap { $0 + [0x0A] }, anchor: anchor).faults
    }

    @Test("The log is sound with the new keyring and without one, and the two receipt keys differ")
    func whole() throws {
        #expect(try KeyringReceipts(former).anchor().publicKey != KeyringReceipts(own).anchor().publicKey)
        for count in 3...5 {
            #expect(try faults(Array(lines.prefix(count)), own, counting: Int64(count)).isEmpty)
            #expect(try faults(Array(lines.prefix(count)), nil).isEmpty)
        }
    }

    @Test("An attacker with only the former key can neither append to the log nor change earlier lines")
    func leaked() throws {
        let behind = try Self.line(4, after: lines[2], by: former)
        #expect(try faults([lines[0], lines[1], lines[2], behind], own) == [AuditFault(line: 4, kind: .stranger)])
        let last = try Self.line(6, after: lines[4], by: former)
        #expect(try faults(lines + [last], own) == [AuditFault(line: 6, kind: .stranger)])
        #expect(try faults(lines + [last], nil) == [AuditFault(line: 6, kind: .stranger)])
        let other = try Self.line(2, after: lines[0], by: former, with: nil)
        #expect(other == lines[1], "the same receipt signed with the same key must be the same line")
        let changed = try Self.line(9, after: lines[0], by: former)
        #expect(try !faults([lines[0], changed, lines[2], lines[3], lines[4]], own).isEmpty)
    }

    @Test("A change of any byte of the line that both keys sign is detected")
    func everyByte() throws {
        for index in lines[2].indices {
            var changed = lines
            changed[2][index] ^= 0x01
            #expect(try !faults(changed, own).isEmpty, "byte \(index)")
            #expect(try !faults(changed, nil).isEmpty, "byte \(index), without the keyring")
        }
    }

    @Test("If the new keyring could not be written, the former key continues the log")
    func broken() throws {
        // The keyring is unchanged, so its key signs the next line.
        let next = try Self.line(4, after: lines[2], by: former)
        let log = Array(lines.prefix(3)) + [next]
        #expect(try faults(log, former).isEmpty && faults(log, nil).isEmpty)
        #expect(try ReceiptLine(lines[2])?.isSigned(as: KeyringReceipts(former).anchor()) == true)
        #expect(try ReceiptLine(lines[2])?.isSigned(as: KeyringReceipts(own).anchor()) == true)
        #expect(try ReceiptLine(lines[3])?.isSigned(as: KeyringReceipts(former).anchor()) == false)
    }

    @Test("After an older keyring is restored, lines of the new key are valid until the former key signs again")
    func restored() throws {
        #expect(try faults(lines, former).isEmpty)
        let back = try Self.line(6, after: lines[4], by: former)
        #expect(try faults(lines + [back], former, counting: 6).isEmpty)
        #expect(try faults(lines + [back], nil) == [AuditFault(line: 6, kind: .stranger)])
        let late = try Self.line(7, after: back, by: own)
        #expect(try faults(lines + [back, late], former) == [AuditFault(line: 7, kind: .stranger)])
        // The former key hands over to the next new key; a key without such a line is a stranger's.
        let (both, third) = try Self.renewing(fixture.unlock(), of: fixture.file, 7, after: back)
        let last = try Self.line(8, after: both, by: third)
        #expect(try faults(lines + [back, both, last], third, counting: 8).isEmpty)
        let unknown = try Self.line(6, after: lines[4], by: third)
        #expect(try faults(lines + [unknown], former) == [AuditFault(line: 6, kind: .stranger)])
    }

    @Test("A stranger's line that names the vault's key as its former key is refused")
    func stranger() throws {
        let other = try KeyringFixture().unlock()
        let line = try Self.line(6, after: lines[4], by: other)
        var object = try JSONObject(JSONParser.parse(line), name: "receipt")
        object["former"] = .string(Hex.encode(try KeyringReceipts(own).anchor().publicKey))
        object["vault"] = .string(own.vaultID.hex)
        let forged = JSONValue.object(object.members).canonical
        #expect(try ReceiptLine(forged)?.isSigned(as: KeyringReceipts(own).anchor()) == false)
        #expect(try !faults(lines + [forged], own).isEmpty && !faults(lines + [forged], nil).isEmpty)
    }
}
