import GRDB
import VaultCrypto
import VaultModel

/// The opened data that is bound to a resource's id: its keys and its metadata.
struct OpenedResource {
    let id: ResourceID
    /// The number of the key in use.
    let keyNumber: Int
    /// Each key by its number, with its row.
    let keys: [Int: (row: ResourceKeyRow, key: SharedKey)]
    let metadataKey: SharedKey
    var metadata: ResourceMetadata

    /// Opens a resource.
    ///
    /// - Throws: `RowDecodingError` or ``VaultError`` with code `integrity` if a value is invalid or does not open.
    init(_ row: ResourceRow, _ keyring: Keyring, _ db: Database) throws {
        try self.init(row, try ResourceKeyRow.fetchAll(of: row.id, db), keyring)
    }

    /// Opens a resource whose key rows have already been read.
    init(_ row: ResourceRow, _ keyRows: [ResourceKeyRow], _ keyring: Keyring) throws {
        guard let keyNumber = row.keyNumber else { throw IndexError.damaged }
        var keys: [Int: (row: ResourceKeyRow, key: SharedKey)] = [:]
        for wrapped in keyRows {
            guard let key = try wrapped.key(keyring) else {
                throw VaultError(
                    .integrity,
                    """
                    a resource key does not open under generation \(wrapped.generation) of this keyring; restore the \
                    keyring, or repair the vault, which removes the resource
                    """, hint: .repair)
            }
            keys[wrapped.number] = (wrapped, key)
        }
        guard let inUse = keys[keyNumber]?.key else { throw IndexError.damaged }
        let metadataKey = SharedKey(try KeyDerivation.key(from: inUse.secret, .metadata))
        guard let metadata = row.openMetadata(under: metadataKey.secret) else { throw IndexError.damaged }
        (id, self.keyNumber, self.keys) = (row.id, keyNumber, keys)
        (self.metadataKey, self.metadata) = (metadataKey, metadata)
    }
}
