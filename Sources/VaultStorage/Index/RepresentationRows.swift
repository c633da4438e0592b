import GRDB
import VaultCrypto
package import VaultModel

/// The rows of the resources' representations.
package struct RepresentationRows {
    private let index: VaultIndex

    init(_ index: VaultIndex) { self.index = index }

    /// Returns whether the information about the representation that a resource serves, if any, exists and opens.
    func opensServed(of resource: OpenedResource, _ db: Database) throws -> Bool {
        try resource.metadata.serving.map { try opens($0, of: resource, db) } ?? true
    }

    /// Returns whether the information about a representation of a resource exists and opens under the resource's key.
    func opens(_ id: RepresentationID, of resource: OpenedResource, _ db: Database) throws -> Bool {
        let row = try IndexError.nilIfDamaged { try RepresentationRow.fetch(id, db) }
        guard let row, row.resource == resource.id else { return false }
        let info = row.openInfo(of: resource.id, under: resource.metadataKey.secret)
        return info.flatMap { RepresentationInfo($0) } != nil
    }

    /// Adds a representation that is being filled. The former representation stays in use until ``serve(_:of:)``.
    package func add(_ representation: StoredRepresentation, to resource: StoredResource) throws {
        let info = try RepresentationRow.seal(
            representation.info.object, of: representation.id, resource.id, under: try resource.metadataKey())
        try index.writeWithoutSync { db in
            try RepresentationRow.insert(representation.id, of: resource.id, info: info, db)
        }
    }

    /// Writes new information about a representation, such as its length.
    package func update(_ info: RepresentationInfo, of id: RepresentationID, resource: StoredResource) throws {
        if resource.place != nil { return try index.packs.rewrite(resource, resource.metadata, info) }
        let sealed = try RepresentationRow.seal(info.object, of: id, resource.id, under: try resource.metadataKey())
        try index.write { db in try RepresentationRow.update(id, info: sealed, db) }
    }

    /// Makes a representation the one from which its resource is read.
    ///
    /// The resource's other representations are deleted, and their segments become pending deletions.
    ///
    /// - Returns: the new metadata.
    package func serve(_ representation: RepresentationID, of resource: StoredResource) throws -> ResourceMetadata {
        var metadata = resource.metadata
        metadata.serving = representation
        let key = try resource.metadataKey()
        let change = { (db: Database) in
            // The bytes of the previous representation are lost with it.
            if let former = resource.metadata.serving, former != representation {
                let bytes = try SegmentRow.segments(of: former, db).reduce(0) { $0 + $1.length }
                try index.completeness.noteLoss(of: bytes, from: resource.id, db)
            }
            let metadata = try index.completeness.withRecordedLosses(metadata, of: resource, db)
            let sealed = try ResourceRow.seal(metadata, of: resource.id, under: key)
            try RepresentationRow.delete(of: resource.id, except: representation, db)
            try db.execute(
                sql: "UPDATE representation SET state = 'serving' WHERE id = ?", arguments: [representation.data])
            try ResourceRow.update(resource.id, metadata: sealed, db)
        }
        // No sync is needed for the first representation, because it has nothing to serve yet and replaces no other.
        if resource.metadata.serving == nil { try index.writeWithoutSync(change) } else { try index.write(change) }
        return metadata
    }

    /// Deletes the representations that the last owner left without anything to serve.
    ///
    /// Their segments become pending deletions.
    package func dropFilling() throws { try index.write { db in try RepresentationRow.deleteFilling(db) } }

    /// Makes a representation that the backup lists as being filled the serving one, if it holds bytes and no serving
    /// representation of the same resource does.
    func serveFilled() throws {
        let filled = try index.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT \(RepresentationRow.columns) FROM representation AS filling WHERE state = 'filling'
                    AND EXISTS (SELECT 1 FROM segment WHERE representation = filling.id)
                    AND NOT EXISTS (
                        SELECT 1 FROM segment JOIN representation AS other ON other.id = segment.representation
                        WHERE other.resource = filling.resource AND other.state = 'serving')
                    """
            ).compactMap { try RepresentationRow($0) }
        }
        for row in filled {
            guard let id = row.resource, let resource = try? index.resources.find(id) else { continue }
            _ = try serve(row.id, of: resource)
        }
    }
}
