import Foundation
import GRDB

@testable import VaultStorage

/// What happens to a row of an index or a backup, or to one of its values.
enum RecordDamage: String, CaseIterable, Sendable {
    /// A bit is flipped: in the first byte, in the middle, in the last.
    case firstBit, middleBit, lastBit
    case null
    /// A value of another type: a number, and a text.
    case number, text
    case empty
    /// A value larger than any that is written.
    case huge
    /// The value of another row.
    case foreign
    /// The value from before the last change.
    case older
    /// The value from before the last retirement.
    case retired
    case lost
    /// The row again, under another key if there can be only one under its own.
    case duplicated

    /// Whether the damage concerns the whole row rather than a column.
    var isOfRow: Bool { self == .lost || self == .duplicated }

    /// The largest value, which is longer than a record of any kind except the two that have a single row.
    private static let hugeBytes = (1 << 20) + 1

    /// Damages a row.
    ///
    /// For an earlier value, the state from which it is taken is attached under the name of the damage.
    ///
    /// - Parameter column: nil if the whole row is concerned.
    /// - Returns: whether the database accepted the damage and has changed.
    func inflict(
        on row: RecordKind.RowKey, _ column: RecordKind.Column?, of kind: RecordKind, _ db: Database
    ) throws -> Bool {
        do {
            switch (self, column) {
            case (.lost, _):
                try db.execute(
                    sql: "DELETE FROM \(kind.name) WHERE \(kind.isRow())", arguments: StatementArguments(row))
            case (.duplicated, _): try duplicate(row, kind, db)
            case (_, nil): return false
            case (_, let column?):
                let arguments = StatementArguments(row)
                let sql = "SELECT \(column.name) FROM main.\(kind.name) WHERE \(kind.isRow())"
                guard let now = try DatabaseValue.fetchOne(db, sql: sql, arguments: arguments),
                    let value = try value(now, column, row, kind, db), value != now
                else { return false }
                try db.execute(
                    sql: "UPDATE main.\(kind.name) SET \(column.name) = ? WHERE \(kind.isRow())",
                    arguments: StatementArguments([value] + row))
            }
        } catch let error as DatabaseError where [.SQLITE_MISMATCH, .SQLITE_CONSTRAINT].contains(error.resultCode) {
            // A row id is an integer, and keys are unique, whoever writes them.
            return false
        }
        return db.changesCount > 0
    }

    private func duplicate(_ row: RecordKind.RowKey, _ kind: RecordKind, _ db: Database) throws {
        let names = kind.columns.map(\.name)
        let last = kind.key.last ?? ""
        let values = names.map { name -> String in
            guard name == last else { return name }
            let type = kind.columns.first { $0.name == name }?.type
            return type == "INTEGER" ? "\(name) + 1" : "substr(\(name), 1, length(\(name)) - 1) || x'00'"
        }
        // A concatenation is text unless it is cast.
        let cast = zip(names, values).map { $0 == $1 ? $1 : $1.hasSuffix("+ 1") ? $1 : "CAST(\($1) AS BLOB)" }
        try db.execute(
            sql: """
                INSERT INTO main.\(kind.name) SELECT \(cast.joined(separator: ", ")) FROM main.\(kind.name)
                    WHERE \(kind.isRow())
                """, arguments: StatementArguments(row))
    }

    /// Returns the value that replaces a value; nil if there is none.
    private func value(
        _ now: DatabaseValue, _ column: RecordKind.Column, _ row: RecordKind.RowKey, _ kind: RecordKind, _ db: Database
    ) throws -> DatabaseValue? {
        switch self {
        case .firstBit, .middleBit, .lastBit: flipped(now)
        case .null: .null
        case .number: column.type == "INTEGER" ? 0.5.databaseValue : 7.databaseValue
        case .text: column.type == "TEXT" ? Data([0]).databaseValue : "x".databaseValue
        case .empty: column.type == "INTEGER" ? (-1).databaseValue : Data().databaseValue
        case .huge:
            switch column.type {
            case "INTEGER": Int64.max.databaseValue
            case "TEXT": String(repeating: "x", count: Self.hugeBytes).databaseValue
            default: Data(count: Self.hugeBytes).databaseValue
            }
        case .foreign:
            try DatabaseValue.fetchOne(
                db,
                sql: """
                    SELECT \(column.name) FROM main.\(kind.name)
                    WHERE NOT (\(kind.isRow())) AND \(column.name) IS NOT ? ORDER BY \(kind.key[0]) LIMIT 1
                    """, arguments: StatementArguments(row + [now]))
        case .older, .retired:
            try DatabaseValue.fetchOne(
                db, sql: "SELECT \(column.name) FROM \(rawValue).\(kind.name) WHERE \(kind.isRow())",
                arguments: StatementArguments(row))
        case .lost, .duplicated: nil
        }
    }

    private func flipped(_ value: DatabaseValue) -> DatabaseValue? {
        let share = self == .firstBit ? 0.0 : self == .middleBit ? 0.5 : 1.0
        switch value.storage {
        case .int64(let number): return (number ^ (1 << Int64(share * 40))).databaseValue
        case .string(let text):
            var bytes = Array(text.utf8)
            guard !bytes.isEmpty else { return nil }
            bytes[Int(share * Double(bytes.count - 1))] ^= 1
            return String(decoding: bytes, as: UTF8.self).databaseValue
        case .blob(let data):
            var bytes = data.array
            guard !bytes.isEmpty else { return nil }
            bytes[Int(share * Double(bytes.count - 1))] ^= 1
            return bytes.data.databaseValue
        case .null, .double: return nil
        }
    }
}
