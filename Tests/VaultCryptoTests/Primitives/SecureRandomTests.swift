import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Secure random bytes")
struct SecureRandomTests {
    @Test("Every draw is different")
    func draws() throws {
        var bytes: Set<[UInt8]> = []
        var keys: Set<[UInt8]> = []
        var ids: Set<SegmentID> = []
        for _ in 0..<2000 {
            bytes.insert(try SecureRandom.bytes(16, "test"))
            keys.insert(try SecureRandom.key("test").exposed)
            ids.insert(try SecureRandom.identifier("test"))
        }
        #expect(bytes.count == 2000)
        #expect(keys.count == 2000)
        #expect(ids.count == 2000)
    }

    @Test("All 32 bytes of a seed are random")
    func seeds() throws {
        var seen = Array(repeating: Set<UInt8>(), count: SecretKey.byteCount)
        for _ in 0..<512 {
            for (place, byte) in try SecureRandom.seed().exposed.enumerated() { seen[place].insert(byte) }
        }
        // 512 draws yield about 221 distinct values on average, and practically never fewer than 128.
        for (place, values) in seen.enumerated() { #expect(values.count > 128, "byte \(place)") }
    }

    @Test("All 12 bytes of a nonce are random, and no two nonces are equal")
    func nonces() throws {
        var seen = Array(repeating: Set<UInt8>(), count: AEAD.nonceByteCount)
        var nonces: Set<[UInt8]> = []
        let key = try SecureRandom.key("test")
        for _ in 0..<512 {
            let nonce = try Array(SealedValue.seal([1], key: key, associatedData: []).prefix(AEAD.nonceByteCount))
            nonces.insert(nonce)
            for (place, byte) in nonce.enumerated() { seen[place].insert(byte) }
        }
        #expect(nonces.count == 512)
        for (place, values) in seen.enumerated() { #expect(values.count > 128, "byte \(place)") }
    }

    @Test("Two copies of a machine derive different keys and bytes from the same seed, because of both clocks")
    func clocks() throws {
        let seed = try SecureRandom.seed()
        #expect(try SecureRandom.key("test", from: seed).exposed != SecureRandom.key("test", from: seed).exposed)
        #expect(try SecureRandom.bytes(16, "test", from: seed) != SecureRandom.bytes(16, "test", from: seed))
        // Each clock adds eight bytes after the context, and advances.
        let (first, second) = (SecureRandom.message("test"), SecureRandom.message("test"))
        #expect(first.count == 4 + 16 && first.starts(with: Array("test".utf8)))
        #expect(first[4..<12] != second[4..<12] && first[12..<20] != second[12..<20])
        #expect(first[4..<12] != first[12..<20], "one clock must be the time of day, the other the time since boot")
    }

    @Test("The requested number of bytes is returned", arguments: [0, 1, 12, 16, 31, 32])
    func sizes(count: Int) throws {
        #expect(try SecureRandom.bytes(count, "test").count == count)
    }
}
