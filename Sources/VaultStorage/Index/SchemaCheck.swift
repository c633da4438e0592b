import CFile
import GRDB
import VaultModel

/// Compares the schema of a database with the one that the vault makes. What else stands there would be obeyed: a trigger
/// keeps copies of keys, a view answers in the place of a table.
enum SchemaCheck {
    /// An entry of `sqlite_schema`.
    struct Entry: Hashable {
        let type: String
        let name: String
        let table: String
        let text: [String]

        init(type: String, name: String, table: String, sql: String) {
            (self.type, self.name, self.table) = (type, name, table)
            text = SchemaCheck.words(of: sql)
        }

        /// What a statement of ours makes.
        init(_ statement: String) {
            let words = SchemaCheck.words(of: statement)
            let isIndex = words[1] == "INDEX"
            self.init(
                type: isIndex ? "index" : "table", name: words[2], table: words[isIndex ? 4 : 2], sql: statement)
        }
    }

    /// Sets what every connection to a database has that somebody else may have written.
    static func guardConnection(_ db: Database) throws {
        guard unsafe cfile_guard_schema(db.sqliteConnection) == 0 else {
            throw VaultError(.storage, "this SQLite cannot be kept from a foreign schema; use version 3.26 or newer")
        }
        try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
    }

    /// Requires that a database has the tables and indices of these statements, and nothing else. It touches no other table.
    ///
    /// - Parameters:
    ///   - optional: statements of which any may be there: what this version adds to an older vault.
    ///   - schema: the name of an attached database.
    /// - Throws: ``VaultError`` with code `integrity`.
    static func require(
        _ statements: [String], optional: [String] = [], of schema: String = "main", _ db: Database
    ) throws {
        let rows = try Row.fetchAll(
            db, sql: "SELECT type, name, tbl_name, rootpage, sql FROM \(schema).sqlite_master LIMIT ?",
            arguments: [statements.count + optional.count + 1])
        let entries = try rows.map { row in
            Entry(
                type: try row.column("type"), name: try row.column("name"), table: try row.column("tbl_name"),
                sql: (try? row.column("sql")) ?? "")
        }
        let required = Set(statements.map(Entry.init))
        let found = Set(entries)
        // Two tables in one tree would write over each other.
        let pages = Set(try rows.map { try $0.column("rootpage") as Int64 })
        guard found.count == entries.count, pages.count == rows.count, found.isSuperset(of: required),
            found.subtracting(required).isSubset(of: Set(optional.map(Entry.init)))
        else {
            throw VaultError(
                .integrity,
                "the index has tables, triggers, views or indices that this program did not make; make it anew with index rebuild"
            )
        }
    }

    /// The words of a statement, however it is spaced. The names of our tables lose their quotes: SQLite quotes a table that
    /// was renamed. No other word does, since a quoted word need not mean what it means without.
    static func words(of sql: String) -> [String] {
        var words: [String] = []
        var rest = sql.unicodeScalars[...]
        while let first = rest.first {
            if Self.spaces.contains(first) {
                rest.removeFirst()
            } else if let end = Self.quotes[first] {
                let inside = rest.dropFirst().prefix { $0 != end }
                let name = String(inside)
                let isOurs = first != "'" && IndexSchema.tableNames.contains(name)
                words.append(isOurs ? name : String(rest.prefix(inside.count + 2)))
                rest = rest.dropFirst(inside.count + 2)
            } else if isLetter(first) {
                let word = rest.prefix(while: isLetter)
                words.append(String(word))
                rest = rest[word.endIndex...]
            } else {
                words.append(String(first))
                rest.removeFirst()
            }
        }
        return words
    }

    private static let spaces: Set<Unicode.Scalar> = [" ", "\n", "\r", "\t"]
    private static let quotes: [Unicode.Scalar: Unicode.Scalar] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.isASCII || scalar == "_" || scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
    }
}
