import Crypto
import Foundation
import Testing

@testable import VaultCrypto

@Suite("Sealed value")
struct SealedValueTests {
    private static let keyBytes = Array(UInt8(0)..<32)
    private static let associatedData = Array("role".utf8)

    @Test(
        "swift-crypto opens values that libsodium sealed, and libsodium opens those of swift-crypto",
        arguments: [0, 1, 16, 63, 64, 65, 1000, 32_768])
    func interchange(count: Int) throws {
        let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let key = try SecretKey(Self.keyBytes)

        let ours = try SealedValue.seal(plaintext, key: key, associatedData: Self.associatedData)
        #expect(ours.count == plaintext.count + SealedValue.overhead)
        let box = try ChaChaPoly.SealedBox(combined: ours)
        let opened = try ChaChaPoly.open(
            box, using: SymmetricKey(data: Self.keyBytes), authenticating: Self.associatedData)
        #expect(Array(opened) == plaintext)

        let theirs = try ChaChaPoly.seal(
            plaintext, using: SymmetricKey(data: Self.keyBytes), authenticating: Self.associatedData)
        let back = SealedValue.open(Array(theirs.combined), key: key, associatedData: Self.associatedData)
        #expect(back == plaintext)
    }

    @Test("swift-crypto opens a sealed key, and a key that swift-crypto sealed opens as a key")
    func keys() throws {
        let key = try SecretKey(Self.keyBytes)
        let secret = try SecretKey(repeating: 0x5A)
        let ours = try SealedValue.seal(secret, key: key, associatedData: Self.associatedData)
        #expect(ours.count == 60)
        let opened = try ChaChaPoly.open(
            .init(combined: ours), using: SymmetricKey(data: Self.keyBytes), authenticating: Self.associatedData)
        #expect(Array(opened) == secret.exposed)

        let theirs = try ChaChaPoly.seal(
            secret.exposed, using: SymmetricKey(data: Self.keyBytes), authenticating: Self.associatedData)
        let back = try SealedValue.openKey(Array(theirs.combined), key: key, associatedData: Self.associatedData)?
            .exposed
        #expect(back == secret.exposed)
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
