import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// A small file in a pack, with everything needed to serve it.
package struct PackedPart: Sendable {
    /// The id that the file would have as a resource of its own.
    package let id: ResourceID
    package var metadata: ResourceMetadata
    /// The id of this version of the file.
    let version: RepresentationID
    /// The file's validators, type and length. The length is always known.
    package var info: RepresentationInfo
    /// The range of the pack's bytes that holds the file.
    package let range: ByteRange

    /// The maximum size of a packed file, in bytes. Larger files have their own segments.
    package static let maxBytes = SegmentDescription.maxBytes

    /// Creates a part whose bytes begin at an offset in a pack; nil if a part of this length cannot be there.
    package init?(_ id: ResourceID, _ metadata: ResourceMetadata, _ info: RepresentationInfo, at offset: Int64) {
        guard let version = metadata.serving, let length = info.information.length,
            (1...Self.maxBytes).contains(length), (0...ContentInformation.maxBytes - length).contains(offset)
        else { return nil }
        (self.id, self.metadata, self.version, self.info) = (id, metadata, version, info)
        range = offset..<offset + length
    }

    fileprivate init?(_ id: ResourceID, _ object: JSONObject) {
        guard let metadata = object["metadata"].flatMap({ try? JSONObject($0, name: "metadata") }),
            let info = object["info"].flatMap({ try? JSONObject($0, name: "info") }),
            let metadata = ResourceMetadata(metadata), let info = RepresentationInfo(info),
            let offset = try? object.integer("offset")
        else { return nil }
        self.init(id, metadata, info, at: offset)
    }

    fileprivate var object: JSONObject {
        JSONObject([
            "metadata": .object(metadata.object.members), "info": .object(info.object.members),
            "offset": .integer(range.lowerBound),
        ])
    }
}

/// A row of `packedPart`.
struct PackedPartRow: Sendable {
    let id: ResourceID
    let pack: ResourceID
    private let entry: [UInt8]

    /// Seals a part into the row of its pack.
    ///
    /// - Parameter key: the pack's metadata key.
    init(_ part: PackedPart, in pack: ResourceID, under key: borrowing SecretKey) throws {
        (id, self.pack) = (part.id, pack)
        entry = try SealedDocument.seal(part.object, key: key, associatedData: Self.entryData(pack, part.id))
        guard entry.count <= Self.maxBytes else {
            throw VaultError(.invalidArgument, "the record of a file would be too large to be kept")
        }
    }

    /// The maximum size of a sealed entry, in bytes. No writer writes a larger one.
    static let maxBytes = ResourceRow.maxBytes

    /// The SQL condition that a row holds valid ids.
    static let hasIDs = "(\(PlainColumn.isID("id")) AND \(PlainColumn.isID("pack")))"

    /// The SQL condition that a row holds valid values.
    static let isPossible = "(\(hasIDs) AND \(PlainColumn.isSealed("entry", upTo: maxBytes)))"

    /// The columns, with an empty entry, which does not open, in place of a missing or oversized one.
    static let corrected = """
        id, pack, CASE WHEN \(PlainColumn.isSealed("entry", upTo: maxBytes)) THEN entry ELSE x'' END AS entry
        """

    /// Creates the row; nil if one of its values is invalid.
    private init?(_ row: Row) {
        guard let id = (try? row.column("id")).flatMap({ ResourceID($0) }),
            let pack = (try? row.column("pack")).flatMap({ ResourceID($0) }),
            let entry: Data = try? row.column("entry")
        else { return nil }
        (self.id, self.pack, self.entry) = (id, pack, Array(entry))
    }

    /// Opens the entry. Returns nil if the entry does not open or belongs to another row.
    ///
    /// - Parameters:
    ///   - key: the pack's metadata key.
    ///   - pack: the id that the pack had when the entry was sealed, if the id has changed since.
    func open(under key: borrowing SecretKey, sealedIn pack: ResourceID? = nil) -> PackedPart? {
        let data = Self.entryData(pack ?? self.pack, id)
        return SealedDocument.open(entry, key: key, associatedData: data).flatMap { PackedPart(id, $0) }
    }

    private static func entryData(_ pack: ResourceID, _ id: ResourceID) -> [UInt8] {
        SealedDocument.associatedData("packedPart", "entry", pack.bytes, id.bytes)
    }

    // MARK: Rows

    /// Returns whether a database has the table, which older vaults lack.
    static func hasTable(of schema: String = "main", _ db: Database) throws -> Bool {
        try IndexSchema.hasTable("packedPart", of: schema, db)
    }

    /// Returns a file's rows: one for each title that has its own copy of the file.
    static func fetch(_ id: ResourceID, _ db: Database) throws -> [PackedPartRow] {
        guard try hasTable(db) else { return [] }
        let statement = try db.cachedStatement(sql: "SELECT \(corrected) FROM packedPart WHERE id = ? ORDER BY pack")
        return try Row.fetchAll(statement, arguments: [id.data]).compactMap { PackedPartRow($0) }
    }

    /// Returns the row of a file in a pack; nil if there is none, or if its values are invalid.
    static func fetch(_ id: ResourceID, in pack: ResourceID, _ db: Database) throws -> PackedPartRow? {
        let statement = try db.cachedStatement(sql: "SELECT \(corrected) FROM packedPart WHERE id = ? AND pack = ?")
        return try Row.fetchOne(statement, arguments: [id.data, pack.data]).flatMap { PackedPartRow($0) }
    }

    /// Returns the rows of a pack. Rows with invalid values are left out.
    static func fetch(in pack: ResourceID, _ db: Database) throws -> [PackedPartRow] {
        guard try hasTable(db) else { return [] }
        return try Row.fetchAll(db, sql: "SELECT \(corrected) FROM packedPart WHERE pack = ?", arguments: [pack.data])
            .compactMap { PackedPartRow($0) }
    }

    /// The SQL condition that a row's pack does not exist.
    static let isStray = "NOT EXISTS (SELECT 1 FROM resource WHERE resource.id = packedPart.pack)"

    /// Returns the number of rows whose pack does not exist.
    static func countStray(_ db: Database) throws -> Int {
        guard try hasTable(db) else { return 0 }
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM packedPart WHERE \(isStray)") ?? 0
    }

    /// Returns the number of rows of a pack, including rows with invalid values.
    static func count(in pack: ResourceID, _ db: Database) throws -> Int {
        guard try hasTable(db) else { return 0 }
        let statement = try db.cachedStatement(sql: "SELECT count(*) FROM packedPart WHERE pack = ?")
        return try Int.fetchOne(statement, arguments: [pack.data]) ?? 0
    }

    /// Adds the row, replacing any older row of the same file in the same pack.
    func insert(_ db: Database) throws {
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO packedPart VALUES (?, ?, ?)")
        try statement.execute(arguments: [id.data, pack.data, entry.data])
    }

    func delete(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM packedPart WHERE id = ? AND pack = ?", arguments: [id.data, pack.data])
    }
}
