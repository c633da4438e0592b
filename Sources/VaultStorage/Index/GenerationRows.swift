import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The rows of the generations, and of the resource keys that they wrap.
///
/// A generation is added to the keyring before the index, and removed from the index before the keyring.
package struct GenerationRows {
    private let index: VaultIndex

    package init(_ index: VaultIndex) { self.index = index }

    /// Ensures that the index can record a change to the keyring before anything depends on that change.
    ///
    /// It writes the same pages that recording the change will write, and lets the next write reuse their space in the
    /// log.
    ///
    /// - Throws: ``VaultError`` if these pages cannot be written.
    func prepareForKeyring() throws {
        try index.write { db in
            // The schema is checked because a trigger could keep a copy of what is to be destroyed.
            try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db)
            // The rows are changed and changed back, because SQLite does not write a page that does not change.
            try db.execute(
                sql: """
                    UPDATE vault SET keyringRevision = keyringRevision + 1;
                    UPDATE vault SET keyringRevision = keyringRevision - 1;
                    INSERT OR IGNORE INTO generation VALUES (0, 'active');
                    DELETE FROM generation WHERE number = 0 \
                    AND NOT EXISTS (SELECT 1 FROM resourceKey WHERE generation = 0);
                    """)
        }
        try index.database.reuseLog()
    }

    /// Adds a generation that the durable keyring already has.
    func addGeneration(_ number: Int) throws {
        try index.write { db in try GenerationRow.insert(number, db) }
    }

    /// Marks generations as being retired, so that the next owner of the vault continues the retirement.
    func beginRetiring(_ numbers: [Int]) throws {
        try index.write { db in
            for number in numbers {
                try db.execute(sql: "UPDATE generation SET state = 'retiring' WHERE number = ?", arguments: [number])
            }
        }
    }

    /// Returns the generations that are being retired: those that the index marks as such, and those that it has
    /// already removed.
    package func retiring() throws -> [Int] {
        let known = try generations()
        let (all, retiring) = (Set(known.all), Set(known.retiring))
        return index.keyring.activeGenerations.filter { number in
            number != index.keyring.currentGeneration && (retiring.contains(number) || !all.contains(number))
        }
    }

    /// Adds rows, marked as being retired, for generations that are being retired and have no row.
    ///
    /// Either their retirement was interrupted, or their rows were lost. In the latter case, resource keys that are
    /// only in the backup are restored under these generations, and rewrapped before the generations are destroyed.
    func restoreRetiring() throws {
        let numbers = try retiring()
        guard !numbers.isEmpty else { return }
        try index.write { db in for number in numbers { try GenerationRow.insert(number, isRetiring: true, db) } }
    }

    /// Removes a generation, so that no resource key can name it any more.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if a resource key or a record still names it.
    func removeGeneration(_ number: Int) throws {
        try index.write { db in
            let keys = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM resourceKey WHERE generation = ?", arguments: [number])
            let records = try SealedTable.allRecordCounts(db)[number] ?? 0
            guard keys == 0, records == 0 else {
                let needs = [
                    keys == 0 ? nil : "wraps \(keys ?? 0) resource \(keys == 1 ? "key" : "keys")",
                    records == 0 ? nil : "seals \(records) \(records == 1 ? "record" : "records")",
                ]
                throw VaultError(
                    .inUse,
                    keys == 0
                        ? "generation \(number) still \(needs.compactMap(\.self).joined()) that cannot be opened; repair "
                            + "the vault, then retire it again"
                        : "generation \(number) still \(needs.compactMap(\.self).joined(separator: " and ")); rewrap, "
                            + "then retire it again",
                    hint: keys == 0 ? .repair : .rewrap)
            }
            try db.execute(sql: "DELETE FROM generation WHERE number = ?", arguments: [number])
            // The revision is recorded because receipts raise it, too. If the index were behind, the removed generation
            // would look new to it.
            try VaultRow.record(revision: index.keyring.revision, db)
        }
    }

    /// Returns the generations that wrap at least one resource key, in ascending order.
    func wrappingGenerations() throws -> [Int] {
        try index.read { db in
            // Each step looks up the next number in the SQL index, and thus skips all keys of the previous number.
            let next = try db.cachedStatement(
                sql: """
                    SELECT min(generation) FROM resourceKey
                    WHERE generation > ? AND generation <= \(PlainColumn.numbers.upperBound)
                    """)
            var numbers: [Int] = []
            while let number = try Int.fetchOne(next, arguments: [numbers.last ?? 0]) { numbers.append(number) }
            return numbers
        }
    }

    /// Returns at most `limit` of the titles that have a key wrapped by a generation, or a part with such a key.
    package func titles(wrappedBy generation: Int, limit: Int) throws -> [ResourceID] {
        try index.read { db in
            let title =
                try PartRow.hasTable(db)
                ? """
                ifnull((SELECT min(part.title) FROM part WHERE part.resource = resourceKey.resource
                    AND NOT EXISTS (SELECT 1 FROM part AS own WHERE own.title = resourceKey.resource)), resource)
                """ : "resource"
            return try Data.fetchAll(
                db, sql: "SELECT DISTINCT \(title) AS title FROM resourceKey WHERE generation = ? ORDER BY 1 LIMIT ?",
                arguments: [generation, limit]
            ).compactMap { ResourceID($0) }
        }
    }

    /// Returns the generations that a resource key may name, in ascending order, and those that are being retired.
    package func generations() throws -> (all: [Int], retiring: [Int]) {
        // Rows with an invalid number are left out, because they name no generation.
        let rows = try index.read { db in try GenerationRow.fetchAll(db) }
        return (rows.map(\.number), rows.filter(\.isRetiring).map(\.number))
    }

    /// Counts how much each generation is used, a page of resources at a time. Unused generations are left out.
    package func generationUse() throws -> [Int: GenerationUsage] {
        var counts: [Int: GenerationUsage] = [:]
        try index.resources.forEachPage { db, before, last in
            // Titles are counted as in the status: a part is not a title, unless it has parts of its own.
            let isTitle =
                try PartRow.hasTable(db)
                ? """
                (NOT EXISTS (SELECT 1 FROM part WHERE part.resource = resourceKey.resource)
                    OR EXISTS (SELECT 1 FROM part WHERE part.title = resourceKey.resource))
                """ : "TRUE"
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT generation, count(DISTINCT resource) AS resources,
                            count(DISTINCT CASE WHEN \(isTitle) THEN resource END) AS titles, total(
                            (SELECT total(segment.length) FROM representation
                                JOIN segment ON segment.representation = representation.id
                                WHERE representation.resource = resourceKey.resource AND \(PlainColumn.isSegment)
                                    AND segment.key = resourceKey.number)) AS bytes
                        FROM resourceKey WHERE resource > ? AND resource <= ? AND \(PlainColumn.isResourceKey)
                        GROUP BY generation
                        """), arguments: [before, last])
            for row in rows {
                let generation: Int = try row.column("generation")
                counts[generation, default: GenerationUsage()].resources += try row.column("resources") as Int
                counts[generation, default: GenerationUsage()].titles += try row.column("titles") as Int
                // The sum is exact up to 2^53. If a damaged row makes it unrepresentable, it counts as 0.
                let bytes: Double = try row.column("bytes")
                counts[generation, default: GenerationUsage()].bytes += Int64(exactly: bytes) ?? 0
            }
        }
        return counts
    }
}

/// How much a generation is used, measured by the keys that it wraps.
package struct GenerationUsage: Hashable, Sendable {
    /// The number of resources that have a key wrapped by the generation.
    package var resources = 0
    /// The number of these resources that are titles rather than parts of one.
    package var titles = 0
    /// The number of plaintext bytes that are sealed under the keys that the generation wraps.
    package var bytes: Int64 = 0

    package init() {}
}
