import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// A row of `resource`. A value is nil if it is invalid or was not selected.
///
/// Each value is checked independently, so that a resource without a valid key can still be evicted or removed.
struct ResourceRow: Sendable {
    let id: ResourceID
    /// The number of the key in use.
    let keyNumber: Int?
    let metadata: [UInt8]?
    let resourceClass: ResourceClass?
    /// The hour in which the resource was last read.
    let accessed: Int64?

    /// The maximum size of sealed metadata, in bytes. No writer writes larger metadata.
    static let maxBytes = 8 << 20

    /// The columns, with null in place of metadata that is too large.
    static let columns = "id, key, \(PlainColumn.bounded("metadata", maxBytes)), class, accessed"

    /// The SQL condition that a row holds a valid id.
    static let hasID = PlainColumn.isID("id")
    private static let hasClass = "(typeof(class) = 'text' AND class IN ('pinned', 'download', 'cache'))"
    private static let hasHour = PlainColumn.isWithin(PlainColumn.hours, "accessed")

    /// Corrects invalid classes and hours in place, in the same way as ``corrected(now:)``.
    ///
    /// - Returns: the number of corrected values.
    static func correct(now: Int64, _ db: Database) throws -> Int {
        try db.execute(sql: "UPDATE resource SET class = 'download' WHERE NOT \(hasClass)")
        let classes = db.changesCount
        try db.execute(sql: "UPDATE resource SET accessed = \(PlainColumn.hour(of: now)) WHERE NOT \(hasHour)")
        return classes + db.changesCount
    }

    /// Returns the columns of a row that may be damaged, with invalid values replaced.
    ///
    /// An invalid class or hour is corrected, because no key depends on it. An invalid key number is replaced with the
    /// number of a first key, and invalid metadata with empty metadata.
    static func corrected(now: Int64) -> String {
        """
        id, CASE WHEN \(PlainColumn.isWithin(PlainColumn.numbers, "key")) THEN key ELSE 1 END,
        CASE WHEN \(PlainColumn.isSealed("metadata", upTo: maxBytes)) THEN metadata ELSE x'' END,
        CASE WHEN \(hasClass) THEN class ELSE 'download' END,
        CASE WHEN \(hasHour) THEN accessed ELSE \(PlainColumn.hour(of: now)) END
        """
    }

    /// Creates the row; nil if its id is invalid.
    ///
    /// - Throws: `RowDecodingError` if the id has another type.
    init?(_ row: Row) throws {
        guard let id = ResourceID(try row.column("id")) else { return nil }
        self.id = id
        keyNumber = try? row.column("key", in: PlainColumn.numbers)
        metadata = (try? row.column("metadata") as Data)?.array
        resourceClass = (try? row.column("class")).flatMap { ResourceClass(rawValue: $0) }
        accessed = try? row.column("accessed", in: PlainColumn.hours)
    }

    /// Returns the row of a resource; nil if there is none.
    static func fetch(_ id: ResourceID, _ db: Database) throws -> ResourceRow? {
        // The compiled statement is reused, because some callers visit every resource of a vault.
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM resource WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id.data]).flatMap { try ResourceRow($0) }
    }

    static func exists(_ id: ResourceID, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(sql: "SELECT 1 FROM resource WHERE id = ?")
        return try Bool.fetchOne(statement, arguments: [id.data]) ?? false
    }

    static func insert(
        _ id: ResourceID, keyNumber: Int, metadata: [UInt8], resourceClass: ResourceClass, accessed: Int64,
        _ db: Database
    ) throws {
        try db.cachedStatement(sql: "INSERT INTO resource VALUES (?, ?, ?, ?, ?)").execute(
            arguments: [id.data, keyNumber, metadata.data, resourceClass.rawValue, accessed])
    }

    static func update(_ id: ResourceID, metadata: [UInt8], _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE resource SET metadata = ? WHERE id = ?").execute(
            arguments: [metadata.data, id.data])
    }

    /// Deletes a resource with its keys and everything it holds. Its segments become pending deletions.
    static func delete(_ id: ResourceID, _ db: Database) throws {
        try RepresentationRow.delete(of: id, db)
        try db.execute(sql: "DELETE FROM resource WHERE id = ?", arguments: [id.data])
        try ErasedRow.insert(ErasedRow.resource, id.data, db)
        // The schema deletes these records along with the resource.
        for table in SealedTable.own where table.isOfResource { try ErasedRow.insert(table.name, id.data, db) }
    }

    // MARK: Metadata

    /// Seals metadata.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the sealed metadata would be larger than readers accept.
    static func seal(
        _ metadata: ResourceMetadata, of id: ResourceID, under key: borrowing SecretKey
    ) throws -> [UInt8] {
        let sealed = try SealedDocument.seal(metadata.object, key: key, associatedData: metadataData(id))
        guard sealed.count <= maxBytes else {
            throw VaultError(.invalidArgument, "the record of the title would be too large; shorten what it says")
        }
        return sealed
    }

    /// Opens the metadata. Returns nil if the metadata does not open.
    func openMetadata(under key: borrowing SecretKey) -> ResourceMetadata? {
        guard let metadata else { return nil }
        return SealedDocument.open(metadata, key: key, associatedData: Self.metadataData(id)).flatMap {
            ResourceMetadata($0)
        }
    }

    private static func metadataData(_ id: ResourceID) -> [UInt8] {
        SealedDocument.associatedData("resource", "metadata", id.bytes)
    }
}

/// A row of `resourceKey`: a resource key, sealed under a generation's wrapping key.
struct ResourceKeyRow: Hashable, Sendable {
    let resource: ResourceID
    let number: Int
    let generation: Int
    let wrapped: [UInt8]

    /// The size of a wrapped key, in bytes.
    static let wrappedBytes = 60

    /// The columns, with null in place of a value that is too large for a wrapped key.
    static let columns = "resource, number, generation, \(PlainColumn.bounded("wrapped", wrappedBytes))"

    /// Creates the row.
    ///
    /// - Throws: `RowDecodingError` or ``VaultError`` with code `integrity` if a value is invalid.
    init(_ row: Row) throws {
        guard let resource = ResourceID(try row.column("resource")) else { throw IndexError.damaged }
        self.resource = resource
        number = try row.column("number", in: PlainColumn.numbers)
        generation = try row.column("generation", in: PlainColumn.numbers)
        wrapped = (try row.column("wrapped") as Data).array
    }

    /// Creates the row by wrapping a key; nil if the keyring lacks the generation.
    init?(
        wrapping key: borrowing SecretKey, of resource: ResourceID, number: Int, generation: Int, _ keyring: Keyring
    ) throws {
        guard let wrapped = try keyring.wrap(key, resource: resource, number: number, generation: generation)
        else { return nil }
        (self.resource, self.number, self.generation, self.wrapped) = (resource, number, generation, wrapped)
    }

    /// Unwraps the key. Returns nil if the key does not open.
    func key(_ keyring: Keyring) throws -> SharedKey? {
        try keyring.unwrap(wrapped, resource: resource, number: number, generation: generation)
    }

    /// Returns all keys of a resource.
    static func fetchAll(of resource: ResourceID, _ db: Database) throws -> [ResourceKeyRow] {
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM resourceKey WHERE resource = ?")
        return try Row.fetchAll(statement, arguments: [resource.data]).map { try ResourceKeyRow($0) }
    }

    /// Returns the next keys that a generation wraps, in order of resource and number, starting after `last`.
    ///
    /// Rows with invalid values are left out.
    static func fetch(
        wrappedBy generation: Int, after last: ResourceKeyRow? = nil, limit: Int, _ db: Database
    ) throws -> [ResourceKeyRow] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT \(columns) FROM resourceKey
                WHERE generation = ? AND (resource, number) > (?, ?) AND \(PlainColumn.isResourceKey) \
                ORDER BY resource, number LIMIT ?
                """,
            arguments: [generation, last?.resource.data ?? Data(), last?.number ?? 0, limit]
        ).map { try ResourceKeyRow($0) }
    }

    /// Counts the keys that a generation does not wrap, the resources that have them, and those of their rows that hold
    /// invalid values.
    ///
    /// ``fetch(wrappedBy:after:limit:_:)`` returns no row with invalid values.
    static func count(
        notWrappedBy generation: Int, _ db: Database
    ) throws -> (keys: Int, resources: Int, impossible: Int) {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*) AS keys, count(DISTINCT CASE WHEN isPossible THEN resource END) AS resources,
                    count(CASE WHEN NOT isPossible THEN 1 END) AS impossible
                FROM (SELECT resource, \(PlainColumn.isResourceKey)
                        AND generation IN (SELECT number FROM generation) AS isPossible
                    FROM resourceKey WHERE generation <> ?)
                """, arguments: [generation])
        guard let row else { throw IndexError.damaged }
        return (try row.column("keys"), try row.column("resources"), try row.column("impossible"))
    }

    func insert(_ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO resourceKey VALUES (?, ?, ?, ?)").execute(
            arguments: [resource.data, number, generation, wrapped.data])
    }

    /// Replaces a row of the same key that another generation wraps. If that row has been deleted, it stays deleted.
    func replace(_ old: ResourceKeyRow, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                UPDATE resourceKey SET generation = ?, wrapped = ? \
                WHERE resource = ? AND number = ? AND generation = ?
                """)
        try statement.execute(arguments: [generation, wrapped.data, resource.data, number, old.generation])
    }
}

/// A row of `representation`. A value is nil if it is invalid.
struct RepresentationRow: Sendable {
    let id: RepresentationID
    let resource: ResourceID?
    let info: [UInt8]?

    /// The maximum size of sealed information, in bytes. No writer writes larger information.
    static let maxBytes = 1 << 20

    /// The columns, with null in place of information that is too large.
    static let columns = "id, resource, state, \(PlainColumn.bounded("info", maxBytes))"

    /// The SQL condition that a row holds valid values.
    static let isPossible =
        "(\(PlainColumn.isID("id", byteCount: 16)) AND \(PlainColumn.isID("resource")) "
        + "AND \(PlainColumn.isSealed("info", upTo: maxBytes)))"

    /// The columns of a row that may be damaged. An invalid state is corrected, because no key depends on it.
    static let corrected = "id, resource, CASE WHEN \(hasState) THEN state ELSE 'serving' END, info"
    private static let hasState = "(typeof(state) = 'text' AND state IN ('filling', 'serving', 'superseded'))"

    /// Corrects invalid states in place, in the same way as ``corrected``.
    ///
    /// - Returns: the number of corrected values.
    static func correct(_ db: Database) throws -> Int {
        try db.execute(sql: "UPDATE representation SET state = 'serving' WHERE NOT \(hasState)")
        return db.changesCount
    }

    /// Creates the row; nil if its id is invalid.
    ///
    /// - Throws: `RowDecodingError` if the id has another type.
    init?(_ row: Row) throws {
        guard let id = RepresentationID(try row.column("id")) else { return nil }
        self.id = id
        resource = (try? row.column("resource")).flatMap { ResourceID($0) }
        info = (try? row.column("info") as Data)?.array
    }

    /// Returns the row of a representation; nil if there is none.
    static func fetch(_ id: RepresentationID, _ db: Database) throws -> RepresentationRow? {
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM representation WHERE id = ?")
        return try Row.fetchOne(statement, arguments: [id.data]).flatMap { try RepresentationRow($0) }
    }

    /// Adds a representation that is being filled.
    ///
    /// - Parameter isServing: whether the resource is already to be read from this representation.
    static func insert(
        _ id: RepresentationID, of resource: ResourceID, info: [UInt8], isServing: Bool = false, _ db: Database
    ) throws {
        try db.cachedStatement(sql: "INSERT INTO representation VALUES (?, ?, ?, ?)").execute(
            arguments: [id.data, resource.data, isServing ? "serving" : "filling", info.data])
    }

    static func update(_ id: RepresentationID, info: [UInt8], _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE representation SET info = ? WHERE id = ?").execute(
            arguments: [info.data, id.data])
    }

    /// Deletes a resource's representations. Their segments become pending deletions.
    ///
    /// - Parameter kept: a representation to keep.
    static func delete(of resource: ResourceID, except kept: RepresentationID? = nil, _ db: Database) throws {
        try delete("resource = ? AND id IS NOT ?", [resource.data, kept?.data], db)
    }

    /// Deletes the representations that are still being filled and have nothing to serve. Their segments become pending
    /// deletions.
    static func deleteFilling(_ db: Database) throws { try delete("state = 'filling'", [], db) }

    private static func delete(_ condition: String, _ arguments: StatementArguments, _ db: Database) throws {
        try PendingDeletion.insert(
            "representation IN (SELECT id FROM representation WHERE \(condition))", arguments, db)
        try db.execute(sql: "DELETE FROM representation WHERE \(condition)", arguments: arguments)
    }

    // MARK: Information

    /// Seals information.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the sealed information would be larger than readers
    ///   accept.
    static func seal(
        _ info: JSONObject, of id: RepresentationID, _ resource: ResourceID, under key: borrowing SecretKey
    ) throws -> [UInt8] {
        let sealed = try SealedDocument.seal(info, key: key, associatedData: infoData(resource, id))
        guard sealed.count <= maxBytes else {
            throw VaultError(.invalidArgument, "the origin says too much about the resource to be kept")
        }
        return sealed
    }

    /// Opens the information. Returns nil if the information does not open.
    ///
    /// - Parameter resource: the id that the resource had when the information was sealed.
    func openInfo(of resource: ResourceID, under key: borrowing SecretKey) -> JSONObject? {
        info.flatMap { SealedDocument.open($0, key: key, associatedData: Self.infoData(resource, id)) }
    }

    private static func infoData(_ resource: ResourceID, _ id: RepresentationID) -> [UInt8] {
        SealedDocument.associatedData("representation", "info", resource.bytes, id.bytes)
    }
}
