import Foundation
import SeededRandom
import Testing
import VaultModel

@testable import VaultCrypto

@Suite("ChaCha20-Poly1305")
struct AEADTests {
    @Test("The vector of RFC 8439 §2.8.2 is sealed and opened byte for byte")
    func rfc8439() throws {
        let key = try SecretKey(Array(0x80...0x9F))
        let nonce: [UInt8] = [0x07, 0, 0, 0] + Array(0x40...0x47)
        let associatedData: [UInt8] = [0x50, 0x51, 0x52, 0x53] + Array(0xC0...0xC7)
        let plaintext = Array(
            "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
                .utf8)
        let expected = try #require(
            Hex.decode(
                "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
                    + "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
                    + "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
                    + "3ff4def08e4b7a9de576d26586cec64b6116" + "1ae10b594f09e26a7e902ecbd0600691"))
        let sealed = AEAD.seal(plaintext, nonce: nonce, associatedData: associatedData, key: key)
        let opened = AEAD.open(expected, nonce: nonce, associatedData: associatedData, key: key)
        #expect(sealed == expected)
        #expect(opened == plaintext)
    }

    @Test("The vector file contains as many vectors as it states, and enough valid and invalid ones")
    func counts() throws {
        let file = try VectorFile.load()
        #expect(file.vectors.count == file.numberOfTests)
        #expect(file.vectors.count { $0.result == "valid" } == 178)
        #expect(file.vectors.count { $0.result == "invalid" } == 99)
        for group in file.testGroups {
            for vector in group.tests {
                let bytes = try vector.bytes
                #expect(bytes.key.count * 8 == group.keySize)
                #expect(bytes.iv.count * 8 == group.ivSize)
                #expect(bytes.tag.count * 8 == group.tagSize)
            }
        }
    }

    @Test("Every valid vector is sealed to the bytes that OpenSSL made of it, and opened")
    func valid() throws {
        var count = 0
        for vector in try VectorFile.load().vectors where vector.result == "valid" {
            let bytes = try vector.bytes
            let key = try SecretKey(bytes.key)
            let sealed = AEAD.seal(bytes.msg, nonce: bytes.iv, associatedData: bytes.aad, key: key)
            let opened = AEAD.open(bytes.ct + bytes.tag, nonce: bytes.iv, associatedData: bytes.aad, key: key)
            #expect(sealed == bytes.ct + bytes.tag, "\(vector.tcId): \(vector.comment)")
            #expect(opened == bytes.msg, "\(vector.tcId): \(vector.comment)")
            count += 1
        }
        #expect(count == 178)
    }

    @Test("Every invalid vector is refused before any plaintext is written")
    func invalid() throws {
        var count = 0
        for vector in try VectorFile.load().vectors where vector.result == "invalid" {
            count += 1
            let bytes = try vector.bytes
            guard bytes.key.count == SecretKey.byteCount else {
                #expect(try !SecretKey.isKey(bytes.key), "\(vector.tcId): \(vector.comment)")
                continue
            }
            let key = try SecretKey(bytes.key)
            let value = SealedValue.open(bytes.iv + bytes.ct + bytes.tag, key: key, associatedData: bytes.aad)
            #expect(value == nil, "\(vector.tcId): \(vector.comment)")
            // A nonce of another size cannot be expressed: `AEAD.Nonce` has twelve bytes.
            guard bytes.iv.count == AEAD.nonceByteCount else { continue }
            let opened = AEAD.open(bytes.ct + bytes.tag, nonce: bytes.iv, associatedData: bytes.aad, key: key)
            #expect(opened == nil, "\(vector.tcId): \(vector.comment)")
        }
        #expect(count == 99)
    }

    @Test("A ciphertext shorter than a tag is refused", arguments: 0..<16)
    func shorterThanTag(count: Int) throws {
        let key = try SecretKey(repeating: 1)
        let opened = AEAD.open(
            Array(repeating: 0, count: count), nonce: Array(repeating: 0, count: 12), associatedData: [], key: key)
        #expect(opened == nil)
    }

    @Test("Opening a part of a block returns that part, and writes nothing if any byte of the block is wrong")
    func parts() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let key = try SecretKey(repeating: 3)
        let nonce = [UInt8](0..<12)
        for _ in 0..<400 {
            let plain = SeededGenerator.bytes(Int.random(in: 0...700, using: &random), seed: random.next())
            let sealed = AEAD.seal(plain, nonce: nonce, associatedData: [], key: key)
            let first = Int.random(in: 0...plain.count, using: &random)
            let part = first..<Int.random(in: first...plain.count, using: &random)
            #expect(AEAD.open(sealed, part: part, nonce: nonce, key: key) == Array(plain[part]), "seed \(seed)")
            var changed = sealed
            let place = Int.random(in: changed.indices, using: &random)
            changed[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            #expect(AEAD.open(changed, part: part, nonce: nonce, key: key) == nil, "seed \(seed)")
        }
    }
}
