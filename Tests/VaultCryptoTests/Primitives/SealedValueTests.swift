import Foundation
import Testing

@testable import VaultCrypto

@Suite("Sealed value")
struct SealedValueTests {
    private static let keyBytes = Array(UInt8(0)..<32)
    private static let associatedData = Array("role".utf8)

    @Test("A sealed value is nonce, ciphertext and tag: what OpenSSL sealed opens, whatever its size")
    func others() throws {
        var opened = 0
        for vector in try VectorFile.load().vectors where vector.result == "valid" {
            let bytes = try vector.bytes
            let key = try SecretKey(bytes.key)
            let value = SealedValue.open(bytes.iv + bytes.ct + bytes.tag, key: key, associatedData: bytes.aad)
            #expect(value == bytes.msg, "\(vector.tcId): \(vector.comment)")
            opened += 1
        }
        #expect(opened == 178)
    }

    @Test(
        "A value is sealed as ChaCha20-Poly1305 seals it with the nonce at its beginning",
        arguments: [0, 1, 16, 63, 64, 65, 1000, 32_768])
    func layout(count: Int) throws {
        let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let key = try SecretKey(Self.keyBytes)
        let ours = try SealedValue.seal(plaintext, key: key, associatedData: Self.associatedData)
        #expect(ours.count == plaintext.count + SealedValue.overhead)
        let nonce = Array(ours.prefix(AEAD.nonceByteCount))
        let sealed = AEAD.seal(plaintext, nonce: nonce, associatedData: Self.associatedData, key: key)
        #expect(ours == nonce + sealed)
        let back = SealedValue.open(ours, key: key, associatedData: Self.associatedData)
        #expect(back == plaintext)
    }

    @Test("A key that OpenSSL sealed opens as a key, and a key is sealed like any value of its bytes")
    func keys() throws {
        let vectors = try VectorFile.load().vectors
        let vector = try #require(
            vectors.first { $0.result == "valid" && $0.msg.count == 2 * SecretKey.byteCount }, "premise: a key's size")
        let bytes = try vector.bytes
        let theirs = try SealedValue.openKey(
            bytes.iv + bytes.ct + bytes.tag, key: SecretKey(bytes.key), associatedData: bytes.aad)?.exposed
        #expect(theirs == bytes.msg)

        let key = try SecretKey(Self.keyBytes)
        let secret = try SecretKey(repeating: 0x5A)
        let ours = try SealedValue.seal(secret, key: key, associatedData: Self.associatedData)
        #expect(ours.count == 60)
        let opened = SealedValue.open(ours, key: key, associatedData: Self.associatedData)
        #expect(opened == secret.exposed)
    }

    @Test("A sealed value of any size but 32 bytes does not open as a key", arguments: [0, 1, 16, 31, 33, 64])
    func keySizes(count: Int) throws {
        let key = try SecretKey(Self.keyBytes)
        let sealed = try SealedValue.seal(Array(repeating: 1, count: count), key: key, associatedData: [])
        let opened = try SealedValue.openKey(sealed, key: key, associatedData: []) != nil
        #expect(!opened)
    }

    @Test("A sealed value with a flipped bit or a missing byte is refused")
    func changed() throws {
        let key = try SecretKey(Self.keyBytes)
        let sealed = try SealedValue.seal(
            Array("a secret of 25 characters".utf8), key: key, associatedData: Self.associatedData)
        for bit in 0..<(sealed.count * 8) {
            let opened = SealedValue.open(sealed.flipping(bit: bit), key: key, associatedData: Self.associatedData)
            #expect(opened == nil, "bit \(bit)")
        }
        for count in 0..<sealed.count {
            let head = SealedValue.open(Array(sealed.prefix(count)), key: key, associatedData: Self.associatedData)
            let tail = SealedValue.open(Array(sealed.suffix(count)), key: key, associatedData: Self.associatedData)
            #expect(head == nil && tail == nil, "\(count) bytes")
        }
        let longer = SealedValue.open(sealed + [0], key: key, associatedData: Self.associatedData)
        #expect(longer == nil)
    }

    @Test("A wrong key and wrong associated data are refused")
    func bound() throws {
        let key = try SecretKey(Self.keyBytes)
        let sealed = try SealedValue.seal([1, 2, 3], key: key, associatedData: Self.associatedData)
        for other in [[], Array("rol".utf8), Array("role2".utf8), Array("Role".utf8)] {
            let opened = SealedValue.open(sealed, key: key, associatedData: other)
            #expect(opened == nil)
        }
        for bit in 0..<256 {
            let opened = SealedValue.open(
                sealed, key: try SecretKey(Self.keyBytes.flipping(bit: bit)), associatedData: Self.associatedData)
            #expect(opened == nil, "bit \(bit) of the key")
        }
    }

    @Test("Ten thousand sealed values have ten thousand nonces")
    func nonces() throws {
        let key = try SecretKey(Self.keyBytes)
        var nonces: Set<[UInt8]> = []
        for _ in 0..<10_000 {
            nonces.insert(Array(try SealedValue.seal([], key: key, associatedData: []).prefix(AEAD.nonceByteCount)))
        }
        #expect(nonces.count == 10_000)
    }
}
