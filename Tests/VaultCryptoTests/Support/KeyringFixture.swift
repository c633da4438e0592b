import Testing
import VaultModel

@testable import VaultCrypto

/// A keyring file for tests, which can be changed as by an attacker who can recompute its checksum.
struct KeyringFixture {
    static let keyBytes = Array(UInt8(1)...32)
    static let now: Int64 = 1_700_000_000

    /// The cheapest cost that a keyring may state.
    static func cheapCost() throws -> Argon2id.Cost {
        Argon2id.Cost(salt: try SecureRandom.bytes(Argon2id.Cost.saltByteCount, "salt"), opsLimit: 1, memLimit: 8 << 20)
    }

    let file: [UInt8]

    /// Creates a keyring that opens with the key of bytes 1 … 32.
    init() throws {
        file = try NewKeyring.make(
            with: .key(SecretKey(Self.keyBytes)), method: .keyFile, label: "test", now: Self.now)
    }

    /// Creates a keyring that opens with a passphrase.
    init(passphrase: [UInt8]) throws {
        file = try NewKeyring.make(
            with: .passphrase(normalizing: SecretBytes(passphrase)), method: .passphrase, label: "test",
            cost: Self.cheapCost(),
            now: Self.now)
    }

    init(file: [UInt8]) { self.file = file }

    var object: JSONObject { get throws { try JSONObject(JSONParser.parse(file), name: "keyring") } }

    /// Returns the root key, opened from the first slot with the test's key.
    func rootKey() throws -> SecretKey {
        let document = try KeyringDocument(reading: object)
        let data = try KeyringDocument.associatedData(
            .slot, vaultID: document.vaultID, number: document.slots[0].number)
        guard
            let key = try SealedValue.openKey(
                document.slots[0].rootKey, key: SecretKey(Self.keyBytes), associatedData: data)
        else { throw VaultError(.wrongKey, "the test's key does not open the test's keyring") }
        return key
    }

    /// Returns the file with changed members and a correct checksum: the most an attacker without a key can do.
    func forged(_ change: (inout JSONObject) throws -> Void) throws -> KeyringFixture {
        var object = try object
        try change(&object)
        object["checksum"] = .string(KeyringDocument.checksum(of: object))
        return KeyringFixture(file: JSONValue.object(object.members).canonical + [0x0A])
    }

    /// Returns the file with changed members of the first object in the list `name`, and a correct checksum.
    func forged(first name: String, _ change: (inout JSONObject) -> Void) throws -> KeyringFixture {
        try forged { object in
            var list = try object.objects(name)
            change(&list[0])
            object[name] = .array(list.map { .object($0.members) })
        }
    }

    /// Returns the keyring with a changed document, rewritten with its root key.
    func rewritten(_ change: (inout KeyringDocument, borrowing SecretKey) throws -> Void) throws -> KeyringFixture {
        var document = try KeyringDocument(reading: object)
        let rootKey = try rootKey()
        try change(&document, rootKey)
        return KeyringFixture(file: try document.encoded(rootKey: rootKey))
    }

    func unlock() throws -> Keyring { try KeyringReader.unlock(file, with: .key(SecretKey(Self.keyBytes))) }

    func unlock(key: [UInt8]) throws -> Keyring { try KeyringReader.unlock(file, with: .key(SecretKey(key))) }

    func unlock(passphrase: [UInt8]) throws -> Keyring {
        try KeyringReader.unlock(file, with: .passphrase(normalizing: SecretBytes(passphrase)))
    }

    /// Returns the code of the error that opening throws; nil if the keyring opens.
    func trouble(key: [UInt8] = keyBytes) -> VaultError.Code? {
        do {
            _ = try unlock(key: key)
            return nil
        } catch {
            return (error as? VaultError)?.code
        }
    }
}
