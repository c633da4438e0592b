import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The rows of the files in packs.
///
/// A pack is a resource like any other, with one representation. The table `packedPart` records which of its bytes
/// belong to which file, sealed under the pack's metadata key.
package struct PackRows {
    private let index: VaultIndex

    init(_ index: VaultIndex) { self.index = index }

    // MARK: Reading

    /// Returns a file in a pack as if it were a resource of its own; nil if no pack has it.
    ///
    /// If several packs have a copy, the first whole copy is returned, else the first that opens.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if none of the file's rows opens.
    func find(_ id: ResourceID, _ db: Database) throws -> StoredResource? {
        let rows = try PackedPartRow.fetch(id, db)
        guard !rows.isEmpty else { return nil }
        let copies = try rows.compactMap { try copy($0, db) }
        guard var found = copies.first(where: \.isWhole) ?? copies.first else {
            throw VaultError(
                .integrity, "the row of a part of a title is damaged; repair the vault, and fetch the title again",
                hint: .repair)
        }
        found.metadata.partOf = copies.flatMap(\.metadata.partOf)
        return found
    }

    /// Returns whether a title has its own copy of a file, and that copy is whole.
    package func hasWholeCopy(of id: ResourceID, for title: [UInt8]) throws -> Bool {
        try index.read { db in
            try PackedPartRow.fetch(id, db).contains { row in
                guard let copy = try copy(row, db) else { return false }
                return copy.isWhole && copy.metadata.partOf.contains(title)
            }
        }
    }

    /// Returns the copy of a file that a row describes; nil if the row does not open.
    func copy(_ row: PackedPartRow, _ db: Database) throws -> StoredResource? {
        do {
            return try IndexError.translating { try resource(row, db) }
        } catch let error as VaultError where error.code == .integrity {
            return nil
        }
    }

    private func resource(_ row: PackedPartRow, _ db: Database) throws -> StoredResource {
        guard let packRow = try ResourceRow.fetch(row.pack, db) else { throw IndexError.damaged }
        let pack = try OpenedResource(packRow, index.keyring, db)
        guard let resourceClass = packRow.resourceClass, let accessed = packRow.accessed,
            let representation = pack.metadata.serving,
            try RepresentationRow.fetch(representation, db)?.resource == row.pack,
            var part = row.open(under: pack.metadataKey.secret)
        else { throw IndexError.damaged }
        // The part's own row records no title, because the pack records it.
        part.metadata.partOf = pack.metadata.partOf
        let place = PackPlace(
            pack: row.pack, representation: representation, version: part.version, offset: part.range.lowerBound)
        let segments = try SegmentRow.segments(
            where:
                "representation = ? AND start > ? AND start < ? AND start + length > ? AND length > 0 ORDER BY start",
            [
                representation.data, part.range.lowerBound - SegmentDescription.maxBytes, part.range.upperBound,
                part.range.lowerBound,
            ], db)
        let badBlocks = try segments.reduce(into: [:]) { $0[$1.id] = try BadBlocks.fetch(of: $1.id, db) }
        return StoredResource(
            id: row.id, metadata: part.metadata, resourceClass: resourceClass, keyNumber: pack.keyNumber,
            keys: pack.keys.mapValues(\.key), generation: pack.keys[pack.keyNumber]?.row.generation ?? 0,
            accessed: accessed,
            serving: StoredRepresentation(
                id: part.version, info: part.info, segments: segments.map(place.moved),
                badBlocks: badBlocks, window: 0..<part.range.length),
            place: place)
    }

    /// Returns the files in a pack, and the number of its rows that do not open. If the resource is not a pack, none of
    /// its rows counts as opened.
    package func parts(of pack: StoredResource) throws -> (parts: [PackedPart], unopened: Int) {
        let key = try pack.metadataKey()
        let (rows, count) = try index.read { db in
            (try PackedPartRow.fetch(in: pack.id, db), try PackedPartRow.count(in: pack.id, db))
        }
        let parts = pack.metadata.isPack ? rows.compactMap { $0.open(under: key) } : []
        return (parts, count - parts.count)
    }

    /// Returns the number of rows of files whose pack does not exist.
    package func strayCount() throws -> Int {
        try index.read { db in try PackedPartRow.countStray(db) }
    }

    /// Deletes the rows of files whose pack does not exist.
    package func dropStray() throws {
        try index.write { db in try db.execute(sql: "DELETE FROM packedPart WHERE \(PackedPartRow.isStray)") }
    }

    // MARK: Writing

    /// Records files whose bytes are durable in a pack, in the transaction that commits these bytes.
    ///
    /// - Returns: the files that were not recorded, because they have become resources of their own.
    func record(_ parts: [PackedPart], in pack: ResourceID, _ db: Database) throws -> [ResourceID] {
        guard !parts.isEmpty else { return [] }
        let key = try metadataKey(ofPack: pack, db)
        return try parts.compactMap { part in
            guard try !ResourceRow.exists(part.id, db) else { return part.id }
            try PackedPartRow(part, in: pack, under: key.secret).insert(db)
            return nil
        }
    }

    /// Writes the metadata and the information of a file in a pack.
    func rewrite(_ resource: StoredResource, _ metadata: ResourceMetadata, _ info: RepresentationInfo) throws {
        var metadata = metadata
        metadata.partOf = []
        guard let place = resource.place,
            let part = PackedPart(resource.id, metadata, info, at: place.offset)
        else { throw IndexError.damaged }
        try index.write { db in
            // A part that has since left the pack is not written back into it.
            guard try PackedPartRow.fetch(part.id, db).contains(where: { $0.pack == place.pack }) else { return }
            try PackedPartRow(part, in: place.pack, under: try metadataKey(ofPack: place.pack, db).secret).insert(db)
        }
    }

    /// Returns a pack's metadata key in use. It is read within this transaction, because a reseal may have replaced an
    /// earlier key.
    private func metadataKey(ofPack id: ResourceID, _ db: Database) throws -> SharedKey {
        guard let row = try ResourceRow.fetch(id, db) else {
            throw TitleRows.removed
        }
        return try OpenedResource(row, index.keyring, db).metadataKey
    }

    /// Deletes a file's rows in all packs, because another version of the file becomes a resource of its own. Nothing
    /// of that version is held yet.
    func unpack(_ id: ResourceID, _ db: Database) throws {
        for row in try PackedPartRow.fetch(id, db) {
            try index.completeness.noteLoss(of: copy(row, db)?.serving?.held.byteCount ?? 0, from: row.pack, db)
            try row.delete(db)
            try ErasedRow.insert(ErasedRow.packedPart, row.id.data + row.pack.data, db)
        }
    }

    /// Deletes those rows of a pack that do not open. Their files can be fetched again.
    package func dropUnopened(of pack: StoredResource) throws {
        try index.write { db in
            let key = try metadataKey(ofPack: pack.id, db)
            let sound = try PackedPartRow.fetch(in: pack.id, db).filter {
                pack.metadata.isPack && $0.open(under: key.secret) != nil
            }
            // All rows are deleted, even those with invalid values, and then the sound ones are added again.
            try db.execute(sql: "DELETE FROM packedPart WHERE pack = ?", arguments: [pack.id.data])
            for row in sound { try row.insert(db) }
        }
    }

    /// Seals a pack's rows again under another key, another pack id, or both.
    ///
    /// - Parameters:
    ///   - id: the pack's former id.
    ///   - newID: the pack id that the rows already have.
    ///   - rename: returns a part with its new id, or unchanged.
    func reseal(
        of id: ResourceID, under key: borrowing SecretKey, as newID: ResourceID, under newKey: borrowing SecretKey,
        renamed rename: (PackedPart) throws -> PackedPart = { $0 }, _ db: Database
    ) throws {
        for row in try PackedPartRow.fetch(in: newID, db) {
            // A row that does not open is left unchanged, and a repair deletes it.
            guard let part = row.open(under: key, sealedIn: id) else { continue }
            try row.delete(db)
            try PackedPartRow(try rename(part), in: newID, under: newKey).insert(db)
        }
    }
}
