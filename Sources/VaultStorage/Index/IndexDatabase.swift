import Foundation
import GRDB
import Synchronization
package import VaultCrypto
import VaultModel

/// The index: which ranges of which representation lie sealed in which segment. SQLite in WAL mode through GRDB.
///
/// One connection does everything, so that no log is checkpointed by one while another commits. Every call may block.
package final class VaultIndex: Sendable {
    let database: DatabaseQueue
    let keyring: Keyring
    /// The locator that this vault's ids are made with.
    package var locator: Int { locatorInUse.load(ordering: .acquiring) }
    private let locatorInUse: Atomic<Int>
    private let isOpen = Atomic(true)
    /// Whether something of the keyring is still to be taken over, for which there was no room.
    private let isBehind = Atomic(false)

    private init(database: DatabaseQueue, keyring: Keyring, locator: Int) {
        self.database = database
        self.keyring = keyring
        locatorInUse = Atomic(locator)
    }

    /// The cost of a statement that waits for another connection, in seconds.
    static let busyTimeout = 5.0

    // MARK: Opening

    /// Makes an empty index for a keyring. The file must be there and empty: it was made 0600, and SQLite gives its
    /// side files the same mode.
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
    /// A reader needs no free byte on the disk: see ``nameWithoutRoom(_:)``.
    package static func open(at path: String, keyring: Keyring, readOnly: Bool) throws -> VaultIndex {
        for suffix in ["", "-wal", "-shm", "-journal"] { try PlainFile.require(path + suffix) }
        do {
            return try connect(to: path, keyring: keyring, readOnly: readOnly)
        } catch let error as VaultError where error.code == .diskFull && readOnly {
            return try connect(to: nameWithoutRoom(path), keyring: keyring, readOnly: true)
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
                    // What is held can be read all the same; the next write does it first.
                    index.isBehind.store(true, ordering: .relaxed)
                }
            }
            return index
        }
    }

    /// The name of an index for a reader whose disk has no room for `-shm`, which SQLite begins by shortening it. Beside an
    /// owner the reader then reads the owner's, and alone it keeps its own in memory until an owner comes: SQLite sees to
    /// both, and nothing is written.
    static func nameWithoutRoom(_ path: String) -> String {
        URL(fileURLWithPath: path).absoluteString + "?readonly_shm=1"
    }

    static func configuration(readOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(busyTimeout)
        configuration.label = "mediavault.index"
        configuration.prepareDatabase { try SchemaCheck.guardConnection($0) }
        return configuration
    }

    /// Sets what the connection must have for every write. Not before the file is known to be ours: WAL would be written
    /// into another program's. And not by GRDB: where it turns WAL on it lowers `synchronous`, after `prepareDatabase`.
    private func prepareForWriting() throws {
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
                    PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA temp_store = MEMORY
                    """)
        }
    }

    /// Checks that a database is this vault's index or its backup: what it is first, then its schema, and its rows last.
    static func check(
        _ db: Database, _ keyring: Keyring, _ statements: [String], optional: [String] = []
    ) throws -> Int {
        try requireKind(db, statements, optional: optional)
        let row = try ownRow(db, keyring)
        guard try Int.fetchOne(db, sql: "SELECT count(*) FROM vault") == 1 else {
            throw VaultError(.integrity, "the index has another vault's row, too; make it anew with index rebuild")
        }
        let revision: Int64 = try row.column("keyringRevision", in: PlainColumn.revisions)
        guard revision <= keyring.revision + KeyringRequirements.farthestRevision else {
            throw VaultError(
                .integrity,
                "the index states a revision of the keyring that none can have; make it anew with index rebuild")
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
            throw VaultError(.noVault, "this is not the index of a vault; name the vault's folder")
        }
        guard try Int.fetchOne(db, sql: "PRAGMA user_version") == IndexSchema.version else {
            throw VaultError(.noVault, "a newer version wrote this vault; use that version")
        }
        try SchemaCheck.require(statements, optional: optional, db)
    }

    /// The row of the keyring's vault.
    static func ownRow(_ db: Database, _ keyring: Keyring) throws -> Row {
        let row = try Row.fetchOne(
            db, sql: "SELECT keyringRevision, locator FROM vault WHERE id = ?", arguments: [keyring.vaultID.data])
        if let row { return row }
        guard try Int.fetchOne(db, sql: "SELECT count(*) FROM vault") ?? 0 > 0 else {
            throw VaultError(.integrity, "the index has lost its first row; make it anew with index rebuild")
        }
        throw VaultError(
            .foreignKeyring, "the keyring belongs to another vault; name the one this vault was made with")
    }

    /// Writes down how new the keyring is: an older one opens the vault no more.
    package func rememberKeyring() throws {
        try write { db in
            try db.execute(
                sql: "UPDATE vault SET keyringRevision = ? WHERE keyringRevision < ?",
                arguments: [keyring.revision, keyring.revision])
        }
    }

    /// Requires that nobody has changed the schema since the index was opened.
    ///
    /// - Throws: ``VaultError`` with code `integrity`.
    package func requireOwnSchema() throws {
        try read { db in try SchemaCheck.require(IndexSchema.first, optional: IndexSchema.later, db) }
    }

    /// Names resources by another locator from now on: the index does so durably.
    func use(locator: Int) { locatorInUse.store(locator, ordering: .releasing) }

    /// Folds the log into the file and closes the connection.
    package func close() throws {
        isOpen.store(false, ordering: .relaxed)
        try IndexError.translating { try database.close() }
    }

    /// GRDB asks a connection that is closed whether it is within a transaction, and SQLite crashes.
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

    /// Writes what nothing depends on yet, without waiting for the disk: rows that name no byte, or keys wrapped twice. They
    /// become durable with the next ``write(_:)``; a power loss before that takes them back, and nothing with them.
    func writeAhead<Result>(_ body: (Database) throws -> Result) throws -> Result {
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

    /// Takes over what the keyring got, if there was no room for it before.
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

    /// Raises the count of fetched bytes, within the transaction that stores what was fetched.
    func countFetched(_ total: Int64, _ db: Database) throws {
        var settings = try settings(db)
        guard total > settings.bytesFetched else { return }
        settings.bytesFetched = total
        try write(settings, db)
    }

    /// Changes settings; what nobody changes stays as it is.
    package func changeSettings(_ change: (inout VaultSettings) throws -> Void) throws {
        try write { db in
            var settings = try self.settings(db)
            try change(&settings)
            try self.write(settings, db)
        }
    }

    func settings(_ db: Database) throws -> VaultSettings {
        // By the locator that they are sealed under: the owner may have changed it since this was opened.
        let row = try Row.fetchOne(db, sql: "SELECT settings, locator FROM vault")
        return try openSettings(try row?.column("settings") ?? Data(), locator: try row?.column("locator") ?? locator)
    }

    func write(_ settings: VaultSettings, _ db: Database) throws {
        let sealed = try seal(settings, locator: locator)
        try db.execute(sql: "UPDATE vault SET settings = ?", arguments: [sealed.data])
    }

    func seal(_ settings: VaultSettings, locator: Int) throws -> [UInt8] {
        guard let key = try keyring.indexKey(locator: locator) else {
            throw VaultError(.foreignKeyring, "the keyring lacks the key of this vault's settings; use the newer one")
        }
        return try SealedDocument.seal(
            settings.object, key: key.secret, associatedData: Self.settingsData(keyring.vaultID))
    }

    /// Whether the vault's owner has changed keys since the keyring was read here: then what does not open may be sound.
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
            throw VaultError(.integrity, "the vault's settings fail their tag; make the index anew with index rebuild")
        }
        return settings
    }

    static func settingsData(_ id: VaultID) -> [UInt8] {
        SealedDocument.associatedData("vault", "settings", id.bytes)
    }
}
