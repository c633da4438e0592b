import Foundation
import Testing
import VaultModel

@testable import VaultCrypto

/// The keyring that the independent Python implementation wrote, with the keys that it states.
@Suite("Golden keyring")
struct GoldenKeyringTests {
    private struct Expected: Decodable {
        struct Facts: Decodable {
            let revision: Int64
            let current: Int
            let active: [Int]
            let retired: [Int]
            let locator: Int
            let tokenEpoch: Int64
        }
        struct Keys: Decodable {
            let root: String
            let locator: String
            let token: String
            let generations: [String: String]
            let unlockOfSlot1: String
        }
        struct Passphrase: Decodable {
            let nfc: String
            let nfd: String
        }
        let vaultID: String
        let keyring: Facts
        let keys: Keys
        let passphrase: Passphrase
    }

    private static func golden(_ name: String) throws -> [UInt8] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return Array(try Data(contentsOf: tests.appending(path: "MediaVaultTests/GoldenVault/\(name)")))
    }

    private static func expected() throws -> Expected {
        try JSONDecoder().decode(Expected.self, from: Data(golden("expected.json")))
    }

    private static func key(_ hex: String) throws -> SecretKey {
        try SecretKey(#require(Hex.decode(hex)))
    }

    @Test("The key file opens the golden keyring, and every key in it is the one that was sealed")
    func keyFile() throws {
        let expected = try Self.expected()
        let key = try Self.golden("key")
        #expect(Hex.encode(key) == expected.keys.unlockOfSlot1)
        let keyring = try KeyringReader.unlock(Self.golden("keyring.json"), with: .key(SecretKey(key)))
        #expect(keyring.vaultID.hex == expected.vaultID)
        #expect(keyring.revision == expected.keyring.revision)
        #expect(keyring.currentGeneration == expected.keyring.current)
        #expect(keyring.activeGenerations == expected.keyring.active)
        #expect(keyring.newestLocator == expected.keyring.locator)
        #expect(keyring.tokenEpoch == expected.keyring.tokenEpoch)
        #expect(keyring.unlockedBy == .keyFile)

        let cacheKey = Array("http://media.example/film.mp4".utf8)
        let locator = try Self.key(expected.keys.locator)
        let name = KeyDerivation.value(from: locator, .resource, cacheKey)
        #expect(keyring.resourceID(cacheKey: cacheKey, locator: expected.keyring.locator)?.bytes == name)
        let token = KeyDerivation.value(from: try Self.key(expected.keys.token), .capability, [1, 2, 3])
        #expect(keyring.token(.capability, [1, 2, 3]) == token)

        let resource = try #require(ResourceID(bytes: name))
        let secret = try SecretKey(repeating: 0x3C)
        for number in expected.keyring.active {
            let wrapping = try KeyDerivation.key(
                from: Self.key(#require(expected.keys.generations["\(number)"])), .wrap, resource.bytes)
            let data =
                Array("resourceKey\0wrapped\0".utf8) + name + LittleEndian.bytes(UInt32(1))
                + LittleEndian.bytes(UInt32(number))
            let wrapped = try SealedValue.seal(secret, key: wrapping, associatedData: data)
            let opened = try keyring.unwrap(wrapped, resource: resource, number: 1, generation: number)
            #expect(opened?.secret.exposed == secret.exposed, "generation \(number)")
        }
        for number in expected.keyring.retired {
            let wrapped = try keyring.wrap(secret, resource: resource, number: 1, generation: number)
            #expect(wrapped == nil)
        }
    }

    @Test("The passphrase opens the golden keyring: composed, decomposed, and as its file contains it")
    func passphrase() throws {
        let expected = try Self.expected()
        let file = try Self.golden("keyring.json")
        for typed in [
            Array(expected.passphrase.nfc.utf8), Array(expected.passphrase.nfd.utf8), try Self.golden("passphrase"),
        ] {
            let keyring = try KeyringReader.unlock(file, with: .passphrase(normalizing: SecretBytes(typed)))
            #expect(keyring.vaultID.hex == expected.vaultID)
            #expect(keyring.unlockedBy == .passphrase)
        }
    }

    @Test("Rewriting the golden keyring reproduces the bytes that Python wrote")
    func rewritten() throws {
        let file = try Self.golden("keyring.json")
        let document = try KeyringDocument(reading: JSONObject(JSONParser.parse(file), name: "keyring"))
        let encoded = try document.encoded(rootKey: Self.key(Self.expected().keys.root))
        #expect(encoded == file || encoded == file + [0x0A])
    }
}
