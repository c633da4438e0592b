import Foundation
import GRDB
import VaultModel

/// A row of `segment` as it is stored, possibly with invalid values.
struct SegmentRow: Sendable {
    let id: SegmentID
    /// The segment that the row describes; nil if the row's values are invalid. The row's range then counts as a gap,
    /// so that wrong bytes are never served.
    let description: SegmentDescription?
    /// Whether the segment is still being written.
    let isOpen: Bool
    /// The range of bytes that the row states; nil if that range is invalid.
    let range: ByteRange?

    /// Creates the row; nil if its id is invalid.
    ///
    /// - Throws: `RowDecodingError` if the id has another type.
    init?(_ row: Row) throws {
        guard let id = SegmentID(try row.column("id")) else { return nil }
        let state: String? = try? row.column("state")
        self.id = id
        isOpen = state == "open"
        range = Self.range(row)
        description = ["open", "closed"].contains(state) ? Self.description(row, id, range) : nil
    }

    private static func range(_ row: Row) -> ByteRange? {
        let most = ContentInformation.maxBytes
        guard let start = try? row.column("start", in: 0...most),
            let length = try? row.column("length", in: 0...SegmentDescription.maxBytes), start <= most - length
        else { return nil }
        return start..<start + length
    }

    private static func description(_ row: Row, _ id: SegmentID, _ range: ByteRange?) -> SegmentDescription? {
        guard let range, let representation = try? RepresentationID(row.column("representation")),
            let keyNumber = try? row.column("key", in: PlainColumn.numbers),
            let blockSize: Int = try? row.column("blockSize")
        else { return nil }
        let segment = SegmentDescription(
            id: id, representation: representation, keyNumber: keyNumber, blockSize: blockSize,
            start: range.lowerBound, length: range.length)
        return segment.isPossible ? segment : nil
    }

    // MARK: Reading

    /// Returns the segments that a condition selects, without rows that hold invalid values.
    ///
    /// - Parameter condition: the SQL text that follows `WHERE`, including the order and the limit.
    static func segments(
        where condition: String, _ arguments: StatementArguments, _ db: Database
    ) throws -> [SegmentDescription] {
        // The compiled statement is reused, because compiling it takes longer than running it, and listings run it for
        // each resource.
        let statement = try db.cachedStatement(sql: "SELECT * FROM segment WHERE \(condition)")
        return try Row.fetchAll(statement, arguments: arguments).compactMap { (try? SegmentRow($0))?.description }
    }

    /// Returns the segments of all representations of a resource, without rows that hold invalid values.
    static func segments(of resource: ResourceID, _ db: Database) throws -> [SegmentDescription] {
        try segments(
            where: "representation IN (SELECT id FROM representation WHERE resource = ?)", [resource.data], db)
    }

    /// Returns the segments of a representation, without rows that hold invalid values.
    static func segments(of representation: RepresentationID, _ db: Database) throws -> [SegmentDescription] {
        try segments(where: "representation = ?", [representation.data], db)
    }

    /// Requires that no good byte of a segment is also held by another segment.
    static func requireNoOverlap(
        _ segment: SegmentDescription, badBlocks: Set<Int> = [], _ db: Database
    ) throws {
        let mine = segment.effectiveRanges(badBlocks: badBlocks)
        let neighbours = try segments(
            where: "representation = ? AND id <> ? AND start > ? AND start < ? AND start + length > ?",
            [
                segment.representation.data, segment.id.data, segment.start - SegmentDescription.maxBytes,
                segment.range.upperBound, segment.start,
            ], db)
        for neighbour in neighbours {
            let good = neighbour.effectiveRanges(badBlocks: try BadBlocks.fetch(of: neighbour.id, db))
            guard good.isDisjoint(mine) else {
                throw VaultError(.integrity, "two segments would hold the same bytes; the newer one is dropped")
            }
        }
    }

    // MARK: Writing

    /// Adds the row of a new segment, which is open and empty.
    ///
    /// - Returns: false, without adding a row, if the resource is gone or uses another key.
    static func insertOpen(_ segment: SegmentDescription, now: Int64, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO segment SELECT ?, representation.id, resource.key, ?, ?, 0, 'open', ?
                FROM representation JOIN resource ON resource.id = representation.resource
                WHERE representation.id = ? AND resource.key = ?
                """)
        try statement.execute(arguments: [
            segment.id.data, segment.blockSize, segment.start, PlainColumn.hour(of: now),
            segment.representation.data, segment.keyNumber,
        ])
        return db.changesCount == 1
    }

    /// Adds the row of a complete segment, replacing the segment's former row.
    static func replaceClosed(
        _ segment: SegmentDescription, badBlocks: Set<Int>, now: Int64, _ db: Database
    ) throws {
        try delete(segment.id, db)
        try db.cachedStatement(sql: "INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, 'closed', ?)").execute(
            arguments: [
                segment.id.data, segment.representation.data, segment.keyNumber, segment.blockSize,
                segment.start, segment.length, PlainColumn.hour(of: now),
            ])
        for block in badBlocks { try BadBlocks.insert(block, of: segment.id, db) }
    }

    /// Records the length of a segment whose bytes are durable.
    ///
    /// - Returns: false if the segment no longer has a row.
    static func update(
        _ segment: SegmentDescription, closed: Bool, accessed: Int64? = nil, _ db: Database
    ) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "UPDATE segment SET length = ?, state = ?, accessed = coalesce(?, accessed) WHERE id = ?")
        try statement.execute(arguments: [segment.length, closed ? "closed" : "open", accessed, segment.id.data])
        return db.changesCount == 1
    }

    /// Deletes a segment's row. Returns false if there was none.
    @discardableResult
    static func delete(_ id: SegmentID, _ db: Database) throws -> Bool {
        try db.cachedStatement(sql: "DELETE FROM segment WHERE id = ?").execute(arguments: [id.data])
        return db.changesCount > 0
    }
}

/// The rows of `badBlock`: blocks whose tag check failed, and which are therefore gaps.
enum BadBlocks {
    static func fetch(of segment: SegmentID, _ db: Database) throws -> Set<Int> {
        let statement = try db.cachedStatement(sql: "SELECT block FROM badBlock WHERE segment = ?")
        return Set(try Int.fetchAll(statement, arguments: [segment.data]))
    }

    /// Returns the bad blocks of all segments of a representation.
    static func fetch(of representation: RepresentationID, _ db: Database) throws -> [SegmentID: Set<Int>] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT badBlock.segment, badBlock.block FROM badBlock JOIN segment ON segment.id = badBlock.segment
                WHERE segment.representation = ?
                """)
        let rows = try Row.fetchAll(statement, arguments: [representation.data])
        var blocks: [SegmentID: Set<Int>] = [:]
        for row in rows {
            if let id = SegmentID(try row.column("segment")) {
                blocks[id, default: []].insert(try row.column("block"))
            }
        }
        return blocks
    }

    /// Adds a bad block, unless it is already known or its segment is gone.
    ///
    /// - Returns: whether the block was added.
    @discardableResult
    static func insert(_ block: Int, of segment: SegmentID, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "INSERT OR IGNORE INTO badBlock SELECT id, ? FROM segment WHERE id = ?",
            arguments: [block, segment.data])
        return db.changesCount > 0
    }
}

/// The rows of `doomed`: segments that no longer have a row of their own, but whose files are yet to be removed.
enum PendingDeletion {
    static func contains(_ id: SegmentID, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(sql: "SELECT 1 FROM doomed WHERE segment = ?")
        return try Bool.fetchOne(statement, arguments: [id.data]) ?? false
    }

    /// Returns the page of ids that follows a given id, in ascending order.
    static func fetch(after last: SegmentID?, limit: Int, _ db: Database) throws -> [SegmentID] {
        // A value that is not an id names no file, and must not hide the values that are ids.
        try Data.fetchAll(
            db,
            sql: """
                SELECT segment FROM doomed WHERE segment > ? AND typeof(segment) = 'blob' AND length(segment) = 16
                ORDER BY segment LIMIT ?
                """,
            arguments: [last?.data ?? Data(), limit]
        ).compactMap { SegmentID($0) }
    }

    /// Makes a segment a pending deletion, even if the segment has no row.
    ///
    /// - Returns: whether the segment had a row.
    @discardableResult
    static func insert(_ id: SegmentID, _ db: Database) throws -> Bool {
        try db.execute(sql: "INSERT OR IGNORE INTO doomed VALUES (?)", arguments: [id.data])
        return try SegmentRow.delete(id, db)
    }

    /// Makes pending deletions of the segments that a condition selects.
    static func insert(_ condition: String, _ arguments: StatementArguments = [], _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO doomed SELECT id FROM segment WHERE \(condition)", arguments: arguments)
        try db.execute(sql: "DELETE FROM segment WHERE \(condition)", arguments: arguments)
    }

    static func delete(_ id: SegmentID, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM doomed WHERE segment = ?", arguments: [id.data])
    }
}
