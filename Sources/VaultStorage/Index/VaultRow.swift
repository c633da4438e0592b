import Foundation
import GRDB
import VaultCrypto
import VaultModel

/// The row of `vault`, which identifies the keyring that the vault needs and holds the sealed settings. A value is nil
/// if it is invalid.
struct VaultRow: Sendable {
    let id: VaultID?
    /// The highest revision of the keyring that the index has recorded.
    let keyringRevision: Int64?
    let locator: Int?
    let settings: [UInt8]?

    init(_ row: Row) {
        id = (try? row.column("id")).flatMap { VaultID($0) }
        keyringRevision = try? row.column("keyringRevision", in: PlainColumn.revisions)
        locator = try? row.column("locator", in: PlainColumn.numbers)
        settings = (try? row.column("settings") as Data).map { Array($0) }
    }

    // MARK: Reading

    /// The maximum size of sealed settings, in bytes. No writer writes larger ones. A key policy at its limits takes a
    /// quarter of this.
    static let maxBytes = 64 << 20

    /// The columns, with null in place of settings that are too large, so that SQLite does not read them.
    static let columns = """
        id, keyringRevision, locator, \
        CASE WHEN typeof(settings) = 'blob' AND length(settings) <= \(maxBytes) THEN settings END AS settings
        """

    /// Returns the row; nil if there is none. Every index that was opened has exactly one.
    static func fetch(_ db: Database) throws -> VaultRow? {
        try Row.fetchOne(db, sql: "SELECT \(columns) FROM vault").map(VaultRow.init)
    }

    /// Returns the row of the vault to which a keyring belongs.
    ///
    /// - Parameter schema: the name of an attached database.
    static func require(_ keyring: Keyring, of schema: String = "main", _ db: Database) throws -> VaultRow {
        // A search by key would read the whole row to compare it, so `+id` keeps SQLite from searching by key.
        let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM \(schema).vault WHERE +id = ?")
        let row = try Row.fetchOne(statement, arguments: [keyring.vaultID.data])
        if let row { return VaultRow(row) }
        let others = try Row.fetchAll(db, sql: "SELECT \(columns) FROM \(schema).vault LIMIT 2").map(VaultRow.init)
        guard !others.isEmpty else {
            throw VaultError(.integrity, "the vault's row is missing from the index; rebuild it", hint: .rebuildIndex)
        }
        // Settings are bound to the vault's id, so if they open, only the id beside them is damaged.
        guard try others.allSatisfy({ try $0.openSettings(keyring) == nil }) else {
            throw VaultError(
                .integrity, "the vault's id in the index is damaged; rebuild the index", hint: .rebuildIndex)
        }
        throw VaultError(
            .foreignKeyring, "the keyring belongs to another vault; use the one this vault was created with")
    }

    /// Returns whether a vault with this keyring can have reached the recorded revision.
    func isRevisionPossible(for keyring: Keyring) -> Bool {
        keyringRevision.map { $0 <= keyring.revision + VaultIndex.maxRevisionLead } ?? false
    }

    /// Returns the number of the locator that a database names; nil if the number is invalid.
    static func locator(of schema: String = "main", _ db: Database) throws -> Int? {
        try Row.fetchOne(db, sql: "SELECT locator FROM \(schema).vault LIMIT 1").flatMap { row in
            try? row.column("locator", in: PlainColumn.numbers)
        }
    }

    /// Opens the settings. Returns nil if they do not open or are not valid settings.
    ///
    /// - Parameter locator: a locator to use instead of the row's locator.
    func openSettings(locator: Int? = nil, _ keyring: Keyring) throws -> VaultSettings? {
        try settingsObject(of: keyring.vaultID, locator: locator ?? self.locator, keyring).flatMap { VaultSettings($0) }
    }

    /// Opens a vault's settings. Returns nil if the keyring does not open them.
    func settingsObject(of id: VaultID, locator: Int?, _ keyring: Keyring) throws -> JSONObject? {
        guard let settings else { return nil }
        return try SealedTable.settings.open(settings, of: id.bytes, RecordKeys(keyring, locator: locator))
    }

    /// Refuses a row that is older than the keys.
    ///
    /// The settings of an older row were sealed either under a generation that has since been retired, or by a format
    /// version up to 5, whose records no longer open after the first retirement.
    ///
    /// - Throws: ``VaultError`` with code `foreignKeyring` if the row is older.
    func requireNoOlderCopy(_ keyring: Keyring) throws {
        switch settings.flatMap({ RecordForm($0) }) {
        case .generation(let number) where keyring.isRetired(number): throw IndexError.olderCopy(number)
        case .former where keyring.hasRecordKeys && !keyring.opensFormerRecords: throw IndexError.olderCopy(nil)
        default: break
        }
    }

    // MARK: Writing

    /// Seals settings under the current generation.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the sealed settings would be larger than readers accept,
    ///   `foreignKeyring` if the keyring has no record key for that generation.
    static func seal(_ settings: VaultSettings, _ keyring: Keyring) throws -> [UInt8] {
        try SealedTable.settings.seal(
            settings.object, of: keyring.vaultID.bytes, RecordKeys(keyring, locator: nil))
    }

    static func insert(_ id: VaultID, revision: Int64, locator: Int, settings: [UInt8], _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO main.vault VALUES (?, ?, ?, ?)",
            arguments: [id.data, revision, locator, settings.data])
    }

    static func update(settings: [UInt8], locator: Int, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE vault SET locator = ?, settings = ?").execute(
            arguments: [locator, settings.data])
    }

    /// Raises the recorded revision of the keyring. The revision is never lowered.
    static func record(revision: Int64, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE vault SET keyringRevision = ? WHERE keyringRevision < ?", arguments: [revision, revision])
    }

    /// Writes the row unchanged, so that the transaction is not empty.
    static func touch(_ db: Database) throws {
        // The row is changed and changed back, because SQLite does not write a page that a statement leaves unchanged.
        try db.execute(
            sql: """
                UPDATE vault SET keyringRevision = keyringRevision + 1;
                UPDATE vault SET keyringRevision = keyringRevision - 1
                """)
    }
}

/// A row of `generation`: a generation that resource keys may name.
struct GenerationRow: Sendable {
    let number: Int
    let isRetiring: Bool

    /// The SQL condition that a row holds a valid number.
    static let isPossible = PlainColumn.isWithin(PlainColumn.numbers, "number")

    /// The columns of a row that may be damaged. An unknown state does not count as retiring.
    static let corrected = "number, CASE WHEN state = 'retiring' THEN state ELSE 'active' END"

    /// Creates the row; nil if its number is out of range.
    init?(_ row: Row) {
        guard let number = try? row.column("number", in: PlainColumn.numbers) else { return nil }
        self.number = number
        // An unknown state does not count as retiring.
        isRetiring = (try? row.column("state") as String) == "retiring"
    }

    /// Returns all rows with valid numbers, in ascending order.
    static func fetchAll(_ db: Database) throws -> [GenerationRow] {
        try Row.fetchAll(db, sql: "SELECT * FROM generation ORDER BY number").compactMap(GenerationRow.init)
    }

    /// Adds a row for a generation, unless it already has one.
    static func insert(_ number: Int, isRetiring: Bool = false, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO generation VALUES (?, ?)",
            arguments: [number, isRetiring ? "retiring" : "active"])
    }
}
