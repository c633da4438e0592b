import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// A table of sealed records, each bound to its table and its id, and sealed under the record key of a generation.
///
/// Every table in ``all`` has the same guarantees: its records are backed up, restored, rewrapped, destroyed with their
/// generation, erased when deleted, verified and repaired. A table that is not in this list is not opened.
struct SealedTable: Sendable {
    let name: String
    /// The name of the column that holds the sealed record.
    let column: String
    /// The name of the table's records in messages, in the plural.
    let title: String
    /// The statement that creates the table in a vault that lacks it.
    let statement: String
    /// The size of an id, in bytes.
    let idByteCount: Int
    /// The maximum size of a sealed record, in bytes. No writer writes a larger one.
    let maxBytes: Int
    /// The number of opened records at which no further page of rows is opened.
    let maxCount: Int
    /// Whether a record's id is a resource's id, so that the record is deleted with the resource.
    let isOfResource: Bool
    /// Whether a record may hold a secret, so that the old record must be erased when it is replaced.
    let isSecret: Bool
    /// The error message for a record that is too large.
    private let tooLarge: String
    /// Whether opened members are a valid record of this table.
    let isRecord: @Sendable (_ id: [UInt8], JSONObject) -> Bool

    init(
        name: String, column: String = "record", title: String, statement: String, idByteCount: Int, maxBytes: Int,
        maxCount: Int, isOfResource: Bool = false, isSecret: Bool = false, tooLarge: String,
        isRecord: @escaping @Sendable (_ id: [UInt8], JSONObject) -> Bool
    ) {
        (self.name, self.column, self.title, self.statement) = (name, column, title, statement)
        (self.idByteCount, self.maxBytes, self.maxCount) = (idByteCount, maxBytes, maxCount)
        (self.isOfResource, self.isSecret, self.tooLarge, self.isRecord) = (isOfResource, isSecret, tooLarge, isRecord)
    }

    // MARK: SQL

    /// The SQL condition that a row holds valid values.
    var isPossible: String { isPossible() }

    /// Returns the same condition for a table under an alias.
    func isPossible(of alias: String? = nil) -> String {
        let record = alias.map { "\($0).\(column)" } ?? column
        return "(\(hasID(alias)) AND \(PlainColumn.isSealed(record, upTo: maxBytes)))"
    }

    /// Returns the SQL condition that a row holds a valid id.
    func hasID(_ alias: String? = nil) -> String {
        PlainColumn.isID(alias.map { "\($0).id" } ?? "id", byteCount: idByteCount)
    }

    /// The columns of a row that may be damaged, with an empty record, which does not open, in place of an invalid one.
    var corrected: String { "id, CASE WHEN \(isPossible) THEN \(column) ELSE x'' END" }

    /// The SQL condition that selects the row of an id, which is the condition's only argument.
    ///
    /// A search by key would read the whole row to compare it, however large the row is. With `+id`, SQLite does not
    /// search by key, and a table with one row needs no search.
    private var isRow: String { maxCount == 1 ? "+id = ?" : "id = ?" }

    /// Returns whether a database has the table, which older vaults lack.
    func exists(in schema: String = "main", _ db: Database) throws -> Bool {
        try IndexSchema.hasTable(name, of: schema, db)
    }

    // MARK: Sealing

    /// Returns the associated data of a record, without its generation.
    func recordData(_ id: [UInt8]) -> [UInt8] { SealedDocument.associatedData(name, column, id) }

    /// Seals a record.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the sealed record would be larger than readers accept.
    func seal(_ members: JSONObject, of id: [UInt8], _ keys: RecordKeys) throws -> [UInt8] {
        let sealed = try keys.seal(members, for: recordData(id))
        guard sealed.count <= maxBytes else { throw VaultError(.invalidArgument, tooLarge) }
        return sealed
    }

    /// Opens a record. Returns nil if it does not open or is not a record of this table.
    ///
    /// - Parameter former: the id that the record had when it was sealed, if the id has changed since.
    func open(_ sealed: [UInt8], of id: [UInt8], sealedAs former: [UInt8]? = nil, _ keys: RecordKeys) throws
        -> JSONObject?
    {
        try keys.open(sealed, for: recordData(former ?? id)).flatMap { isRecord(id, $0) ? $0 : nil }
    }

    // MARK: Reading

    /// The content of the row with a given id.
    enum Content {
        /// There is no row.
        case missing
        /// The row does not open.
        case unreadable
        case members(JSONObject)
    }

    /// Returns the content of the row of an id.
    func content(of id: [UInt8], _ keys: RecordKeys, in schema: String = "main", _ db: Database) throws -> Content {
        guard try exists(in: schema, db) else { return .missing }
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT CASE WHEN \(isPossible) THEN \(column) END AS record FROM \(schema).\(name) WHERE \(isRow)
                    """), arguments: [id.data])
        guard let row else { return .missing }
        guard let record = try? row.column("record") as Data, let members = try open(record.array, of: id, keys) else {
            return .unreadable
        }
        return .members(members)
    }

    /// Opens the rows that follow an id, in the order of their ids. Only one record at a time is in memory.
    ///
    /// - Parameter body: receives the id and the members of each row that opens, and returns whether they are a record
    ///   of this table.
    /// - Returns: the id to continue after; nil if fewer rows than the limit were left.
    func open(
        after last: Data, limit: Int, _ keys: RecordKeys, _ db: Database, _ body: ([UInt8], JSONObject) throws -> Bool
    ) throws -> Data? {
        guard try exists(db) else { return nil }
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT id, \(column) AS record FROM \(name) WHERE id > ? AND \(isPossible) ORDER BY id LIMIT ?
                    """), arguments: [last, limit])
        var (count, last) = (0, last)
        while let row = try rows.next() {
            count += 1
            last = try row.column("id")
            guard let record = try? row.column("record") as Data,
                let members = try keys.open(record.array, for: recordData(last.array))
            else { continue }
            _ = try body(last.array, members)
        }
        return count < limit ? nil : last
    }

    private static let pageSize = 1000

    /// Opens all rows, or stops after the page with which ``maxCount`` records have been opened.
    ///
    /// - Returns: the number of rows that do not open or are not records of this table. It includes rows that were not
    ///   reached.
    func open(_ keys: RecordKeys, _ db: Database, _ body: ([UInt8], JSONObject) throws -> Bool) throws -> Int {
        let count = try rowCount(db)
        var opened = 0
        var last: Data? = Data()
        // Only records that open count towards the maximum, so that other rows cannot hide them.
        while let after = last, opened < maxCount {
            last = try open(after: after, limit: Self.pageSize, keys, db) { id, members in
                let isRecord = try body(id, members)
                if isRecord { opened += 1 }
                return isRecord
            }
        }
        return count - opened
    }

    /// Opens rows as ``open(_:_:_:)`` does, and returns what `make` returns for each of them.
    ///
    /// - Parameter make: receives the id and the members of a row that opens. It returns nil if they are not a record
    ///   of this table.
    /// - Returns: the records, and the number of rows that do not open or are not records.
    func records<Record>(
        _ keys: RecordKeys, _ db: Database, _ make: ([UInt8], JSONObject) throws -> Record?
    ) throws -> (found: [Record], unreadable: Int) {
        var found: [Record] = []
        let unreadable = try open(keys, db) { id, members in
            guard let record = try make(id, members) else { return false }
            found.append(record)
            return true
        }
        return (found, unreadable)
    }

    /// Returns the number of rows that do not open or are not records of this table.
    func unreadableCount(_ keys: RecordKeys, _ db: Database) throws -> Int { try open(keys, db, isRecord) }

    /// Returns the number of rows, including rows with invalid values.
    func rowCount(_ db: Database) throws -> Int {
        try exists(db) ? Int.fetchOne(db, sql: "SELECT count(*) FROM \(name)") ?? 0 : 0
    }

    // MARK: Writing

    /// Seals a record and writes it, replacing any previous record with the same id.
    func write(_ members: JSONObject, of id: [UInt8], _ keys: RecordKeys, _ db: Database) throws {
        // The table may be missing, because the disk may have had no space for it when the owner opened the vault.
        if try !exists(db) { try db.execute(sql: IndexSchema.ifAbsent(statement)) }
        let sealed = try seal(members, of: id, keys)
        if isSecret {
            let former = try db.cachedStatement(sql: "SELECT 1 FROM \(name) WHERE \(isRow)")
            if try Bool.fetchOne(former, arguments: [id.data]) != nil { try PendingErasure.record(db) }
        }
        // The table has no other row, and finding this row by its key would read it, however large it is.
        if maxCount == 1 { try db.execute(sql: "DELETE FROM \(name)") }
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO main.\(name) VALUES (?, ?)")
        try statement.execute(arguments: [id.data, sealed.data])
    }

    /// Replaces the sealed form of a record in its row. If the row has been deleted, it stays deleted.
    func replace(_ sealed: [UInt8], of id: [UInt8], _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "UPDATE main.\(name) SET \(column) = ? WHERE \(isRow)")
        try statement.execute(arguments: [sealed.data, id.data])
    }

    /// Writes a sealed record that was lost, whether or not it still has a row.
    func restore(_ sealed: [UInt8], of id: [UInt8], _ db: Database) throws {
        try replace(sealed, of: id, db)
        guard db.changesCount == 0 else { return }
        try db.execute(
            sql: "INSERT INTO main.\(name) (id, \(column)) VALUES (?, ?)", arguments: [id.data, sealed.data])
    }

    /// Deletes the rows of the given ids.
    ///
    /// - Parameter isForgotten: whether to have all copies of the rows erased, too.
    func delete(_ ids: [[UInt8]], isForgotten: Bool = true, _ db: Database) throws {
        guard !ids.isEmpty, try exists(db) else { return }
        let statement = try db.cachedStatement(sql: "DELETE FROM \(name) WHERE \(isRow)")
        for id in ids {
            try statement.execute(arguments: [id.data])
            try ErasedRow.insert(name, id.data, db)
        }
        if isForgotten { try PendingErasure.record(db) }
    }

    /// Deletes all rows, including those that do not open, and has all copies of them erased.
    func deleteAll(_ db: Database) throws {
        guard try exists(db) else { return }
        try ErasedRow.insert(name, ErasedRow.all, db)
        try db.execute(sql: "DELETE FROM \(name)")
        try PendingErasure.record(db)
    }

    /// Deletes the rows that do not open.
    ///
    /// - Parameter kept: the generations whose records are kept although they do not open.
    func deleteUnreadable(_ keys: RecordKeys, keeping kept: [Int] = [], _ db: Database) throws {
        guard try exists(db) else { return }
        var sound: Set<[UInt8]> = []
        _ = try open(keys, db) { id, members in
            if isRecord(id, members) { sound.insert(id) }
            return true
        }
        try db.execute(
            sql: """
                INSERT INTO main.erased SELECT '\(name)', id FROM \(name)
                    WHERE typeof(id) = 'blob' AND length(id) = \(idByteCount) AND NOT \(isPossible)
                """)
        try db.execute(sql: "DELETE FROM \(name) WHERE NOT \(isPossible)")
        let isKept = kept.map { isUnder($0) }.joined(separator: " OR ")
        let rows = try Data.fetchAll(
            db, sql: "SELECT id FROM \(name) \(kept.isEmpty ? "" : "WHERE NOT (\(isKept))")")
        try delete(rows.map(\.array).filter { !sound.contains($0) }, db)
    }

    /// Seals the records of renamed resources again, bound to their new ids.
    ///
    /// - Parameter former: the former id of each resource, keyed by its new id. The rows already have the new ids,
    ///   because the schema updates them with the resource's row.
    func rename(_ former: [[UInt8]: [UInt8]], _ keys: RecordKeys, _ db: Database) throws {
        guard isOfResource, try exists(db) else { return }
        for (id, formerID) in former where id != formerID {
            let statement = try db.cachedStatement(
                sql: "SELECT \(column) AS record FROM \(name) WHERE id = ? AND \(isPossible)")
            guard let row = try Row.fetchOne(statement, arguments: [id.data]),
                let record = try? row.column("record") as Data,
                let members = try open(record.array, of: id, sealedAs: formerID, keys)
            else { continue }
            try replace(seal(members, of: id, keys), of: id, db)
        }
    }
}
