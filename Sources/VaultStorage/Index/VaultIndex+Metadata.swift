import Foundation
import GRDB
import VaultCrypto
import VaultModel

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

    /// Seals what is known of a resource's representations under another key, another id of the resource, or both.
    ///
    /// - Parameters:
    ///   - id: the resource's id till now.
    ///   - newID: the id that its rows have already.
    /// - Returns: how many do not open, and stay as they are.
    func sealInfos(
        of id: ResourceID, under key: borrowing SecretKey, as newID: ResourceID, under newKey: borrowing SecretKey,
        _ db: Database
    ) throws -> Int {
        let rows = try Row.fetchAll(
            db, sql: "SELECT id, info FROM representation WHERE resource = ?", arguments: [newID.data])
        var unopened = 0
        for row in rows {
            guard let name: Data = try? row.column("id"), let representation = RepresentationID(name),
                let former: Data = try? row.column("info"),
                let info = SealedDocument.open(
                    Array(former), key: key,
                    associatedData: Self.infoData(id, representation))
            else {
                unopened += 1
                continue
            }
            let sealed = try SealedDocument.seal(
                info, key: newKey, associatedData: Self.infoData(newID, representation))
            try db.execute(
                sql: "UPDATE representation SET info = ? WHERE id = ?", arguments: [sealed.data, representation.data])
        }
        return unopened
    }
}
