import Testing
import VaultModel

@testable import VaultCrypto

@Suite("Key derivation")
struct KeyDerivationTests {
    private static let purposes: [Purpose] = [
        .wrap, .metadata, .segment, .commitment, .resource, .principal, .index, .fresh, .capability, .token, .tokenEra,
        .keyring,
        .keyringMAC,
        .keyringSum,
    ]

    @Test("Key derivation reproduces the vectors of the format (libsodium and Python agree)")
    func vectors() throws {
        let key = try SecretKey(Array(0..<32))
        let metadata = KeyDerivation.value(from: key, .metadata)
        let resource = KeyDerivation.value(from: key, .resource, Array("http://a.example/x".utf8))
        #expect(Hex.encode(metadata) == "9a3460bbbca8a91feb0f81b5a89c496bd885de0990a06958ad25e99b244d5be0")
        #expect(Hex.encode(resource) == "727397a9d0495cccbdee8c8d034bd88e4edbf18c05bb518db7a1f6f9767c411b")
    }

    @Test("A derived key equals the derived value")
    func keyAndValue() throws {
        let key = try SecretKey(Array(0..<32))
        let derived = try KeyDerivation.key(from: key, .wrap, [1, 2, 3]).exposed
        let value = KeyDerivation.value(from: key, .wrap, [1, 2, 3])
        #expect(derived == value)
    }

    @Test("A derived value depends on purpose, key and message")
    func separation() throws {
        let key = try SecretKey(repeating: 1)
        let other = try SecretKey(repeating: 2)
        var values: Set<[UInt8]> = []
        for purpose in Self.purposes {
            for message in [[], [0], [0, 0], Array("x".utf8)] as [[UInt8]] {
                values.insert(KeyDerivation.value(from: key, purpose, message))
                values.insert(KeyDerivation.value(from: other, purpose, message))
                values.insert(KeyDerivation.checksum(purpose, message))
            }
        }
        #expect(values.count == Self.purposes.count * 4 * 3)
        #expect(values.allSatisfy { $0.count == 32 })
    }

    @Test("The checksum is unkeyed, personalised BLAKE2b-256")
    func checksum() throws {
        // hashlib.blake2b(b"abc", digest_size=32, person=b"mv.keyring.sum")
        #expect(
            Hex.encode(KeyDerivation.checksum(.keyringSum, Array("abc".utf8)))
                == "a830bb7a25509e3bcb02417b8fca417f0aa2c0599402dea62c729c3511302622")
    }

    @Test("Integers are written little-endian")
    func littleEndian() {
        #expect(LittleEndian.bytes(UInt32(0x0102_0304)) == [4, 3, 2, 1])
        #expect(LittleEndian.bytes(UInt64(1_234_567)) == [0x87, 0xD6, 0x12, 0, 0, 0, 0, 0])
        #expect(LittleEndian.bytes(UInt64.max) == Array(repeating: 0xFF, count: 8))
    }
}
