import CFile
import GRDB
import VaultModel

/// Compares the schema of a database with the one that the vault creates.
///
/// SQLite would act on anything else in the schema: a trigger could keep copies of keys, and a view could take the
/// place of a table.
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

        /// Creates the entry for one of this program's own statements.
        init(_ statement: String) {
            let words = SchemaCheck.words(of: statement)
            let isIndex = words[1] == "INDEX"
            self.init(
                type: isIndex ? "index" : "table", name: words[2], table: words[isIndex ? 4 : 2], sql: statement)
        }
    }

    /// Protects a connection against a database that another program may have written.
    static func hardenConnection(_ db: Database) throws {
        guard unsafe cfile_set_defensive(db.sqliteConnection) == 0 else {
            throw VaultError(.storage, "this SQLite cannot guard against a foreign schema; use version 3.26 or newer")
        }
        try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
    }

    /// Requires that a database is a vault's index or its backup, and that it has the given schema.
    static func requireKind(_ db: Database, _ statements: [String], optional: [String] = []) throws {
        guard try Int.fetchOne(db, sql: "PRAGMA application_id") == IndexSchema.applicationID else {
            throw VaultError(.noVault, "this is not the index of a vault; give the vault's folder")
        }
        guard let version = try Int.fetchOne(db, sql: "PRAGMA user_version"), IndexSchema.versions.contains(version)
        else { throw VaultError(.noVault, "this vault was written by a newer version; use that version") }
        // Only an older vault may lack what this version adds.
        let isOlder = version < IndexSchema.versions.upperBound
        try require(isOlder ? statements : statements + optional, optional: isOlder ? optional : [], db)
    }

    /// Requires that a database has the tables and indices that these statements create, and nothing else.
    ///
    /// It reads only the schema.
    ///
    /// - Parameters:
    ///   - optional: statements for tables and indices that are allowed but not required, because this version adds
    ///     them to an older vault.
    ///   - schema: the name of an attached database.
    /// - Throws: ``VaultError`` with code `integrity` if the schema differs.
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
        // Each entry needs a tree of its own, because two tables in the same tree would overwrite each other.
        let pages = Set(try rows.map { try $0.column("rootpage") as Int64 })
        guard found.count == entries.count, pages.count == rows.count, found.isSuperset(of: required),
            found.subtracting(required).isSubset(of: Set(optional.map(Entry.init)))
        else {
            throw VaultError(
                .integrity,
                "the index has tables, triggers, views or indices that this program did not create; rebuild it",
                hint: .rebuildIndex)
        }
    }

    /// Returns the words of a statement, ignoring its spacing.
    ///
    /// Quotes around the names of the vault's tables are dropped, because SQLite quotes the name of a renamed table.
    /// All other quotes are kept, because a word can have another meaning without its quotes.
    static func words(of sql: String) -> [String] { ownWords[sql] ?? parsedWords(of: sql) }

    /// The words of this program's own statements. They are kept because an index has these statements verbatim, and
    /// each start of the program checks all of them.
    private static let ownWords = Dictionary(
        uniqueKeysWithValues: IndexSchema.all.map { ($0, parsedWords(of: $0)) })

    private static func parsedWords(of sql: String) -> [String] {
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
        // Every start of the command checks the schema, and lookups in Unicode's tables would take most of that time.
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_": true
        default: !scalar.isASCII
        }
    }
}
