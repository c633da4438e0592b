import GRDB
import VaultCrypto
import VaultModel

/// The form of a sealed record, which follows from the record's length.
enum RecordForm: Hashable, Sendable {
    /// The record is sealed under the record key of a generation, whose number is in the record's first four bytes.
    case generation(Int)
    /// The record is sealed under the index key of the vault's locator, as in format versions up to 5.
    case former

    /// The size of the generation's number, in bytes.
    static let prefixBytes = 4

    /// Creates the form of a record; nil if the record's length fits no form.
    init?(_ sealed: [UInt8]) {
        switch (sealed.count - SealedValue.overhead) % SealedDocument.step {
        case 0: self = .former
        case Self.prefixBytes:
            self = .generation(Self.number(in: sealed))
        default: return nil
        }
    }

    /// Returns the number of the generation that a record's first bytes name.
    static func number(in sealed: [UInt8]) -> Int {
        sealed.prefix(prefixBytes).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}

/// Seals and opens the records of an index during one operation on it.
///
/// Each record is sealed under the record key of a generation, so that old copies of it can be destroyed like old
/// copies of a resource key: by rewrapping and then retiring the generation.
final class RecordKeys {
    private let keyring: Keyring
    /// The locator under whose index key format versions up to 5 sealed records; nil if the vault's row names none.
    private let locator: Int?
    private var keys: [RecordForm: SharedKey] = [:]
    /// Whether a key was missing. If so, the keyring file is not reread for each further record whose key is missing.
    private var lacksKey = false

    init(_ keyring: Keyring, locator: Int?) { (self.keyring, self.locator) = (keyring, locator) }

    /// Creates the keys for a database's records.
    convenience init(_ keyring: Keyring, of schema: String = "main", _ db: Database) throws {
        self.init(keyring, locator: try VaultRow.locator(of: schema, db))
    }

    /// Seals a record under the current generation.
    ///
    /// - Parameter data: the associated data that the record is bound to.
    /// - Throws: ``VaultError`` with code `foreignKeyring` if the keyring has no record key for that generation.
    func seal(_ members: JSONObject, for data: [UInt8]) throws -> [UInt8] {
        let generation = keyring.currentGeneration
        guard let key = try key(.generation(generation)) else { throw Self.locked }
        let prefix = Self.prefix(of: generation)
        return try prefix + SealedDocument.seal(members, key: key.secret, associatedData: data + prefix)
    }

    /// Opens a record. Returns nil if the record does not open.
    func open(_ sealed: [UInt8], for data: [UInt8]) throws -> JSONObject? {
        guard let form = RecordForm(sealed), let key = try key(form) else { return nil }
        switch form {
        case .former: return SealedDocument.open(sealed, key: key.secret, associatedData: data)
        case .generation:
            let (prefix, value) = (sealed.prefix(RecordForm.prefixBytes), sealed.dropFirst(RecordForm.prefixBytes))
            return SealedDocument.open(Array(value), key: key.secret, associatedData: data + prefix)
        }
    }

    /// Returns the four bytes that name a generation.
    static func prefix(of generation: Int) -> [UInt8] { LittleEndian.bytes(UInt32(truncatingIfNeeded: generation)) }

    private func key(_ form: RecordForm) throws -> SharedKey? {
        if let known = keys[form] { return known }
        let key =
            switch form {
            case .generation(let number): try keyring.recordKey(generation: number, isFollowing: !lacksKey)
            case .former: try locator.flatMap { try keyring.formerRecordKey(locator: $0) }
            }
        if let key { keys[form] = key } else { lacksKey = true }
        return key
    }

    /// The error for a keyring that has no record keys.
    static var locked: VaultError {
        VaultError(.foreignKeyring, "the keyring lacks the key of this vault's records; use the newer keyring")
    }
}
