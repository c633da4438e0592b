import GRDB
import VaultCrypto

extension VaultIndex {
    /// Seals the metadata of a resource anew.
    func write(_ metadata: ResourceMetadata, of resource: StoredResource) throws {
        guard let key = resource.keys[resource.keyNumber] else { throw IndexError.damaged }
        let metadataKey = try KeyDerivation.key(from: key.secret, .metadata)
        let sealed = try SealedDocument.seal(
            metadata.object, key: metadataKey, associatedData: Self.metadataData(resource.id))
        try write { db in
            try db.execute(
                sql: "UPDATE resource SET metadata = ? WHERE id = ?", arguments: [sealed.data, resource.id.data])
        }
    }
}
