import Foundation
import GRDB
import Synchronization
package import VaultCrypto
import VaultModel

/// The index: which ranges of which representation are sealed in which segment.
///
/// It is an SQLite database in WAL mode, used through GRDB. One connection does everything, so that no connection
/// checkpoints the log while another commits. Every call may block.
package final class VaultIndex: Sendable {
    let database: DatabaseQueue
    let keyring: Keyring
    /// The locator from which this vault's resource ids are derived.
    package var locator: Int { locatorInUse.load(ordering: .acquiring) }
    private let locatorInUse: Atomic<Int>
    private let isOpen = Atomic(true)
    /// Whether the index has yet to take over changes of the keyring, because the disk had no space for them.
    private let isBehind = Atomic(false)

    /// The most by which an index's revision may exceed a keyring's: no vault can have had more changes.
    package static let maxRevisionLead: Int64 = 1 << 32

    private init(database: DatabaseQueue, keyring: Keyring, locator: Int) {
        self.database = database
        self.keyring = keyring
        locatorInUse = Atomic(locator)
    }

    /// How long a statement waits for another connection, in seconds.
    static let busyTimeout = 5.0

    // MARK: Opening

    /// Creates an empty index for a keyring.
    ///
    /// The file must exist and be empty: the caller created it with mode 0600, and SQLite gives its side files the
    /// same mode.
    package static func create(at path: String, keyring: Keyring) throws {
        try IndexError.translating {
            var configuration = configuration(readOnly: false)
            configuration.journalMode = .wal
            let database = try DatabaseQueue(path: path, configuration: configuration)
            guard let indexKey = try keyring.indexKey(locator: keyring.newestLocator) else { return }
            let settings = try SealedDocument.seal(
                VaultSettings().object, key: indexKey.secret, associatedData: settingsData(keyring.vaultID))
            try database.write { db in
                try db.execute(sql: "PRAGMA application_id = \(IndexSchema.applicationID)")
                for statement in IndexSchema.all { try db.execute(sql: statement) }
                for number in keyring.activeGenerations {
                    try db.execute(sql: "INSERT INTO generation VALUES (?, 'active')", arguments: [number])
                }
                try db.execute(
                    sql: "INSERT INTO vault VALUES (?, ?, ?, ?)",
                    arguments: [keyring.vaultID.data, keyring.revision, keyring.newestLocator, settings.data])
                try db.execute(sql: "PRAGMA user_version = \(IndexSchema.version)")
            }
            try database.close()
        }
    }

    /// Opens an index, and checks that the keyring is this vault's and not an older one.
    ///
    /// A reader needs no free space on the disk: see ``nameForFullDisk(_:)``.
    package static func open(at path: String, keyring: Keyring, readOnly: Bool) throws -> VaultIndex {
        for suffix in ["", "-wal", "-shm", "-journal"] { try RegularFile.require(path + suffix) }
        do {
            return try connect(to: path, keyring: keyring, readOnly: readOnly)
        } catch let error as VaultError where error.code == .diskFull && readOnly {
            return try connect(to: nameForFullDisk(path), keyring: keyring, readOnly: true)
        }
    }

    static func connect(to path: String, keyring: Keyring, readOnly: Bool) throws -> VaultIndex {
        try IndexError.translating {
            let database = try DatabaseQueue(path: path, configuration: configuration(readOnly: readOnly))
            let locator = try database.read { db in
                try check(db, keyring, IndexSchema.first, optional: IndexSchema.later)
            }
            let index = VaultIndex(database: database, keyring: keyring, locator: locator)
            if !readOnly {
                try index.prepareForWriting()
                do {
                    try index.catchUpWithKeyring()
                } catch let error as VaultError where error.code == .diskFull {
                    // Held bytes can still be read; the next write catches up first.
                    index.isBehind.store(true, ordering: .relaxed)
                }
            }
            return index
        }
    }

    /// Returns the name of an index for a reader whose disk has no space for `-shm`.
    ///
    /// Without this name SQLite begins by truncating `-shm`. With it, the reader uses the `-shm` of an owner, if there
    /// is one, and otherwise keeps its own in memory until an owner comes. SQLite does both, and nothing is written.
    static func nameForFullDisk(_ path: String) -> String {
        URL(fileURLWithPath: path).absoluteString + "?readonly_shm=1"
    }

    static func configuration(readOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(busyTimeout)
        configuration.label = "mediavault.index"
        configuration.prepareDatabase { try SchemaCheck.hardenConnection($0) }
        return configuration
    }

    /// Sets the pragmas that every write needs.
    ///
    /// This happens only after the file is known to be a vault's index, because WAL would otherwise be written into
    /// another program's file. It cannot be left to GRDB, which lowers `synchronous` when it turns WAL on, after
    /// `prepareDatabase`.
    private func prepareForWriting() throws {
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
                    PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA temp_store = MEMORY
                    """)
        }
    }

    /// Checks that a database is this vault's index or its backup: first its kind, then its schema, then its rows.
    static func check(
        _ db: Database, _ keyring: Keyring, _ statements: [String], optional: [String] = []
    ) throws -> Int {
        try requireKind(db, statements, optional: optional)
        let row = try vaultRow(db, keyring)
        guard try Int.fetchOne(db, sql: "SELECT count(*) FROM vault") == 1 else {
            throw VaultError(.integrity, "the index also has another vault's row; rebuild it", hint: .rebuildIndex)
        }
        let revision: Int64 = try row.column("keyringRevision", in: PlainColumn.revisions)
        guard revision <= keyring.revision + VaultIndex.maxRevisionLead else {
            throw VaultError(
                .integrity,
                "the index states an impossible revision of the keyring; rebuild the index", hint: .rebuildIndex)
        }
        guard revision <= keyring.revision else {
            throw VaultError(
                .olderKeyring, "the keyring is older than the one this vault was last used with; use the newer one")
        }
        return try row.column("locator", in: PlainColumn.numbers)
    }

    /// Checks that a database is a vault's index or its backup, and has its schema.
    static func requireKind(_ db: Database, _ statements: [String], optional: [String] = []) throws {
        guard try Int.fetchOne(db, sql: "PRAGMA application_id") == IndexSchema.applicationID else {
            throw VaultError(.noVault, "this is not the index of a vault; give the vault's folder")
        }
        guard try Int.fetchOne(db, sql: "PRAGMA user_version") == IndexSchema.version else {
            throw VaultError(.noVault, "this vault was written by a newer version; use that version")
        }
        try SchemaCheck.require(statements, optional: optional, db)
    }

    /// Returns the row of the keyring's vault.
    static func vaultRow(_ db: Database, _ keyring: Keyring) throws -> Row {
        let row = try Row.fetchOne(
            db, sql: "SELECT keyringRevision, locator FROM vault WHERE id = ?", arguments: [keyring.vaultID.data])
        if let row { return row }
        guard try Int.fetchOne(db, sql: "SELECT count(*) FROM vault") ?? 0 > 0 else {
            throw VaultError(.integrity, "the vault's row is missing from the index; rebuild it", hint: .rebuildIndex)
        }
        throw VaultError(
            .foreignKeyring, "the keyring belongs to another vault; use the one this vault was created with")
    }

    /// Records the keyring's revision, so that an older keyring no longer opens the vault.
    package func recordKeyringRevision() throws {
        try write { db in
            try db.execute(
                sql: "UPDATE vault SET keyringRevision = ? WHERE keyringRevision < ?",
                arguments: [keyring.revision, keyring.revision])
        }
    }

    /// Requires that the index still has the schema that this program creates.
    ///
    /// - Throws: ``VaultError`` with code `integrity`.
    package func requireOwnSchema() throws {
        try read { db in try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db) }
    }

    /// Uses another locator from now on; the index already names it durably.
    func use(locator: Int) { locatorInUse.store(locator, ordering: .releasing) }

    /// Checkpoints the log into the file and closes the connection.
    package func close() throws {
        isOpen.store(false, ordering: .relaxed)
        try IndexError.translating { try database.close() }
    }

    /// Requires that the index is open.
    ///
    /// GRDB asks a closed connection whether it is in a transaction, and that crashes SQLite.
    func checkOpen() throws {
        guard isOpen.load(ordering: .relaxed) else { throw VaultError.vaultClosed }
    }

    // MARK: Work

    func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkOpen()
        return try IndexError.translating { try database.read(body) }
    }

    func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkOpen()
        try catchUp()
        return try IndexError.translating { try database.write(body) }
    }

    /// Writes rows that nothing depends on yet, without waiting for the disk.
    ///
    /// Such rows name no bytes, or hold keys that were wrapped a second time. They become durable with the next
    /// ``write(_:)``. A power loss before that undoes them, and nothing else.
    func writeWithoutSync<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkOpen()
        try catchUp()
        return try IndexError.translating {
            try database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                let result = Swift.Result { try Self.transaction(db, body) }
                try db.execute(sql: "PRAGMA synchronous = FULL")
                return try result.get()
            }
        }
    }

    /// Takes over the keyring's changes if the disk had no space for them before.
    func catchUp() throws {
        guard isBehind.exchange(false, ordering: .relaxed) else { return }
        do {
            try catchUpWithKeyring()
        } catch {
            isBehind.store(true, ordering: .relaxed)
            throw error
        }
    }

    private static func transaction<Result>(_ db: Database, _ body: (Database) throws -> Result) throws -> Result {
        var result: Result?
        try db.inTransaction(.immediate) {
            result = try body(db)
            return .commit
        }
        guard let result else { throw IndexError.damaged }
        return result
    }

    // MARK: Settings

    package func settings() throws -> VaultSettings {
        try read { db in try self.settings(db) }
    }

    /// Raises the count of fetched bytes, in the transaction that stores these bytes.
    func countFetched(_ total: Int64, _ db: Database) throws {
        var settings = try settings(db)
        guard total > settings.bytesFetched else { return }
        settings.bytesFetched = total
        try write(settings, db)
    }

    /// Changes settings; those that `change` leaves alone stay as they are.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try write { db in
            var settings = try self.settings(db)
            try change(&settings)
            try self.write(settings, db)
        }
    }

    func settings(_ db: Database) throws -> VaultSettings {
        // With the locator that the row names: the owner may have changed it since this index was opened.
        let row = try Row.fetchOne(db, sql: "SELECT settings, locator FROM vault")
        return try openSettings(try row?.column("settings") ?? Data(), locator: try row?.column("locator") ?? locator)
    }

    func write(_ settings: VaultSettings, _ db: Database) throws {
        let sealed = try seal(settings, locator: locator)
        try db.execute(sql: "UPDATE vault SET settings = ?", arguments: [sealed.data])
    }

    func seal(_ settings: VaultSettings, locator: Int) throws -> [UInt8] {
        guard let key = try keyring.indexKey(locator: locator) else {
            throw VaultError(
                .foreignKeyring, "the keyring lacks the key of this vault's settings; use the newer keyring")
        }
        return try SealedDocument.seal(
            settings.object, key: key.secret, associatedData: Self.settingsData(keyring.vaultID))
    }

    /// Returns whether the owner has changed keys since this process read the keyring.
    ///
    /// If so, data that does not open may still be sound.
    package func isNewerThanKeyring() throws -> Bool {
        try read { db in
            let revision = try Int64.fetchOne(db, sql: "SELECT keyringRevision FROM vault")
            return (revision ?? 0) > keyring.revision
        }
    }

    func openSettings(_ sealed: Data, locator: Int) throws -> VaultSettings {
        guard let key = try keyring.indexKey(locator: locator),
            let object = SealedDocument.open(
                Array(sealed), key: key.secret, associatedData: Self.settingsData(keyring.vaultID)),
            let settings = VaultSettings(object)
        else {
            throw VaultError(
                .integrity, "the vault's settings failed authentication; rebuild the index", hint: .rebuildIndex)
        }
        return settings
    }

    static func settingsData(_ id: VaultID) -> [UInt8] {
        SealedDocument.associatedData("vault", "settings", id.bytes)
    }
}
