import Foundation
import GRDB

@testable import VaultStorage

/// A table whose rows are in the index and in its backup.
struct RecordKind: Sendable {
    /// A column, as the schema declares it.
    struct Column: Hashable, Sendable {
        let name: String
        let type: String
    }

    let name: String
    let columns: [Column]
    /// The columns that identify its rows.
    let key: [String]

    /// Every such table: the sealed tables, and all others that the backup has.
    static let all: [RecordKind] = {
        let backup = (IndexSchema.catalog + IndexSchema.laterCatalog).filter { $0.hasPrefix("CREATE TABLE ") }
            .map { String($0.split(separator: " ")[2]) }
        let names = SealedTable.all.map(\.name)
        // The schema is that of a new vault; without it there is no test.
        guard let memory = try? DatabaseQueue(),
            let kinds = try? memory.write({ db in
                for statement in IndexSchema.all { try db.execute(sql: statement) }
                return try (names + backup.filter { !names.contains($0) }).map { try RecordKind($0, db) }
            })
        else { return [] }
        return kinds
    }()

    private init(_ name: String, _ db: Database) throws {
        self.name = name
        let rows = try Row.fetchAll(db, sql: "PRAGMA table_info(\(name))")
        columns = rows.map { Column(name: $0["name"], type: $0["type"]) }
        let key = rows.filter { ($0["pk"] as Int) > 0 }.sorted { ($0["pk"] as Int) < ($1["pk"] as Int) }
        self.key = key.isEmpty ? ["rowid"] : key.map { $0["name"] }
    }

    /// A row, by the values of its key.
    typealias RowKey = [DatabaseValue]

    /// The SQL condition for one row, whose arguments are a ``RowKey``.
    func isRow(_ alias: String? = nil) -> String {
        key.map { "\(alias.map { "\($0)." } ?? "")\($0) IS ?" }.joined(separator: " AND ")
    }

    /// Returns the keys of the rows, those of given resources first and in their order, without those of others.
    ///
    /// - Parameters:
    ///   - order: resources whose rows come first.
    ///   - spared: resources whose rows are left out.
    func rows(first order: [Data], without spared: [Data], _ db: Database) throws -> [RowKey] {
        let columns = columns.map(\.name)
        let owner = ["pack", "resource"].first { columns.contains($0) } ?? (columns.contains("id") ? "id" : nil)
        let selected = key.joined(separator: ", ") + (owner.map { ", \($0) AS owner" } ?? "")
        let rows = try Row.fetchAll(db, sql: "SELECT \(selected) FROM \(name) ORDER BY \(key.joined(separator: ", "))")
        func place(_ row: Row) -> Int? {
            guard owner != nil, let id = try? row.decode(Data.self, forColumn: "owner") else { return order.count }
            return spared.contains(id) ? nil : order.firstIndex(of: id) ?? order.count
        }
        let known = rows.enumerated().compactMap { number, row in place(row).map { (($0, number), row) } }
        return known.sorted { $0.0 < $1.0 }.map { _, row in Array(row.databaseValues.prefix(key.count)) }
    }
}
