import Foundation
import GRDB
import Synchronization
import VaultCrypto
import VaultModel

/// Opens and hardens the index's SQLite connection, and runs transactions on it.
///
/// One connection does everything, so that no connection checkpoints the log while another commits. Every call may
/// block.
final class IndexDatabase: Sendable {
    /// The number of the locator that the vault's row named when the database was opened.
    let locator: Int
    private let queue: DatabaseQueue
    private let keyring: Keyring
    let grouped = GroupedWrites()
    private let isOpen = Atomic(true)
    /// Whether the index has yet to record changes to the keyring, because the disk had no space for them.
    private let isBehind = Atomic(false)

    /// How long a statement waits for another connection, in seconds.
    private static let busyTimeout = 5.0

    /// The path of the database file.
    var path: String { queue.path }

    /// The suffixes of the files beside an index from which a new index is made.
    enum Unfinished: String, CaseIterable {
        /// The file is a new index that is still being filled.
        case filling = ".new"
        /// The file is a new index that is complete and durable, and that replaces the old one.
        case complete = ".complete.new"
        /// The file holds what could be read from the old index.
        case salvage = ".salvage.new"
    }

    // MARK: Opening

    /// Opens an index, and checks that the keyring belongs to this vault and is not an older one.
    init(at path: String, keyring: Keyring, readOnly: Bool) throws {
        self.keyring = keyring
        (queue, locator) = try IndexError.translating {
            let queue = try DatabaseQueue(path: path, configuration: Self.configuration(readOnly: readOnly))
            // This runs outside a transaction, because SQLite does not end one that has met an unreadable page.
            return (queue, try queue.inDatabase { db in try Self.check(db, keyring) })
        }
        guard !readOnly else { return }
        try prepareForWriting()
        do {
            try catchUpWithKeyring()
        } catch let error as VaultError where error.code == .diskFull {
            // Held bytes can still be read. The next write catches up with the keyring first.
            isBehind.store(true, ordering: .relaxed)
        }
    }

    /// Runs work on a new database, outside a transaction. The file must exist and be empty.
    static func creating<Result>(at path: String, _ body: (Database) throws -> Result) throws -> Result {
        try IndexError.translating {
            var configuration = configuration(readOnly: false)
            configuration.journalMode = .wal
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let result = try queue.writeWithoutTransaction(body)
            try queue.close()
            return result
        }
    }

    /// Runs work on the rows of an index or a catalog to which this process does not write.
    ///
    /// - Parameter boundsValues: whether to refuse the file if it has a value larger than any that a writer writes.
    static func reading<Result>(
        _ path: String, _ contents: IndexSchema.Contents, boundsValues: Bool = true,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        try IndexError.translating {
            for suffix in ["", "-wal", "-shm", "-journal"] { try RegularFile.require(path + suffix) }
            let database = try DatabaseQueue(path: path, configuration: configuration(readOnly: true))
            defer { try? database.close() }
            // This runs outside a transaction, because SQLite does not end one that has met an unreadable page.
            return try database.inDatabase { db in
                try SchemaCheck.require(contents.required, optional: contents.optional, db)
                if boundsValues { try ValueSizes.require(contents, db) }
                return try body(db)
            }
        }
    }

    /// Creates the tables of an index, and marks the database as an index once `fill` has added the first rows.
    static func createSchema(_ db: Database, filling fill: () throws -> Void) throws {
        try db.execute(sql: "PRAGMA application_id = \(IndexSchema.applicationID)")
        for statement in IndexSchema.all { try db.execute(sql: statement) }
        try fill()
        try db.execute(sql: "PRAGMA user_version = \(IndexSchema.versions.upperBound)")
    }

    static func configuration(readOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readOnly
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(busyTimeout)
        configuration.label = "mediavault.index"
        configuration.prepareDatabase { db in
            try SchemaCheck.hardenConnection(db)
            // A reader of the vault lists the whole index and exits, so its cache takes up to 16 MiB. That is enough
            // for the index of 10 000 titles.
            if readOnly { try db.execute(sql: "PRAGMA cache_size = -16384") }
        }
        return configuration
    }

    /// Sets the pragmas that every write needs.
    ///
    /// They are set only once the file is known to be a vault's index, because otherwise the WAL mode could be written
    /// into another program's file. They cannot be left to GRDB, which lowers `synchronous` when it turns on WAL after
    /// `prepareDatabase`.
    private func prepareForWriting() throws {
        try withoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
                    PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA temp_store = MEMORY
                    """)
        }
    }

    /// Checks that a database is this vault's index: first its kind, then its schema, the sizes of its values, and its
    /// rows.
    ///
    /// - Returns: the number of the vault's locator.
    private static func check(_ db: Database, _ keyring: Keyring) throws -> Int {
        try SchemaCheck.requireKind(db, IndexSchema.first, optional: IndexSchema.later)
        try ValueSizes.require(.ofIndex, db)
        let row = try VaultRow.require(keyring, db)
        guard try Int.fetchOne(db, sql: "SELECT count(*) FROM vault") == 1 else {
            throw VaultError(.integrity, "the index also has another vault's row; rebuild it", hint: .rebuildIndex)
        }
        try row.requireNoOlderCopy(keyring)
        guard let revision = row.keyringRevision else { throw IndexError.damaged }
        guard row.isRevisionPossible(for: keyring) else {
            throw VaultError(
                .integrity,
                "the index states an impossible revision of the keyring; rebuild the index", hint: .rebuildIndex)
        }
        guard revision <= keyring.revision else {
            throw VaultError(
                .olderKeyring, "the keyring is older than the one this vault was last used with; use the newer one")
        }
        guard let locator = row.locator else { throw IndexError.damaged }
        guard keyring.locators.contains(locator) else {
            throw VaultError(
                .integrity, "the index names a key for ids that its keyring does not have; rebuild the index",
                hint: .rebuildIndex)
        }
        return locator
    }

    /// Checkpoints the log into the file and closes the connection.
    func close() throws {
        isOpen.store(false, ordering: .relaxed)
        try IndexError.translating { try queue.close() }
    }

    // MARK: Work

    /// Runs work that reads. The transaction is rolled back, so that nothing stays of what the work writes by mistake.
    ///
    /// GRDB's own `read` would set a pragma before and after the work, and SQLite compiles every statement of the
    /// connection again after that.
    func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkOpen()
        return try IndexError.translating {
            try queue.unsafeRead { db in try Self.transaction(db, .deferred, ending: .rollback, body) }
        }
    }

    func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkOpen()
        try catchUp()
        return try IndexError.translating { try queue.write(body) }
    }

    /// Writes in a transaction shared with other threads that write at the same time, so that one sync suffices.
    ///
    /// If `body` throws, only this write fails. If the transaction cannot begin or become durable, all its writes fail.
    ///
    /// - Parameter body: the work, which may run on another thread, and may run again after a first run was undone.
    func writeTogether<Result: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Result
    ) throws -> Result {
        try checkOpen()
        try catchUp()
        return try IndexError.translating { try grouped.write(to: queue, body) }
    }

    /// Writes rows that nothing depends on yet, without waiting for the disk.
    ///
    /// These rows name no bytes, or hold rewrapped keys. They become durable with the next ``write(_:)``. A power loss
    /// before then undoes only these rows.
    func writeWithoutSync<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkOpen()
        try catchUp()
        return try withoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            let result = Swift.Result { try Self.transaction(db, .immediate, ending: .commit, body) }
            try db.execute(sql: "PRAGMA synchronous = FULL")
            return try result.get()
        }
    }

    /// Runs work outside a transaction, such as pragmas, checkpoints and work on attached databases.
    func withoutTransaction<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try checkOpen()
        return try IndexError.translating { try queue.writeWithoutTransaction(body) }
    }

    /// Requires that the database is open.
    ///
    /// GRDB would ask a closed connection whether it is in a transaction, and that crashes SQLite.
    func checkOpen() throws {
        guard isOpen.load(ordering: .relaxed) else { throw VaultError.vaultClosed }
    }

    private static func transaction<Result>(
        _ db: Database, _ kind: Database.TransactionKind, ending completion: Database.TransactionCompletion,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        var result: Result?
        try db.inTransaction(kind) {
            result = try body(db)
            return completion
        }
        guard let result else { throw IndexError.damaged }
        return result
    }

    // MARK: The keyring's changes

    /// If the disk had no space for this before, records the keyring's changes and adds the tables that an older vault
    /// lacks.
    func catchUp() throws {
        guard isBehind.exchange(false, ordering: .relaxed) else { return }
        do {
            try catchUpWithKeyring()
        } catch {
            isBehind.store(true, ordering: .relaxed)
            throw error
        }
    }

    /// Records the generations and the revision that the keyring has gained since this index was last written.
    ///
    /// If this index has seen a generation but has no row for it, the generation was removed, and only the keyring has
    /// yet to drop its key.
    private func catchUpWithKeyring() throws {
        try write { db in
            try Self.upgrade(db)
            guard let seen = try VaultRow.fetch(db)?.keyringRevision, seen < keyring.revision else { return }
            // An older generation without a row was removed, however often the keyring has changed since. A row for a
            // generation that the keyring does not know proves nothing, because anyone with write access may have added
            // the row.
            let rows = Set(try GenerationRow.fetchAll(db).map(\.number))
            let newest = keyring.generationRecords.map(\.number).last { rows.contains($0) } ?? 0
            for number in keyring.activeGenerations where number > newest || number == keyring.currentGeneration {
                try GenerationRow.insert(number, db)
            }
            try VaultRow.record(revision: keyring.revision, db)
        }
    }

    /// Adds the tables that an older vault lacks, and records that its records must be sealed again.
    ///
    /// This precedes every other write, because an older version would mistake later writes for damage.
    private static func upgrade(_ db: Database) throws {
        guard try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0 < IndexSchema.versions.upperBound else { return }
        let couldOweErasures = try PendingErasure.hasTable(db)
        for statement in IndexSchema.later { try db.execute(sql: IndexSchema.ifAbsent(statement)) }
        try db.execute(sql: "PRAGMA user_version = \(IndexSchema.versions.upperBound)")
        try PendingMigration.record(db)
        // Without this table, the last owner could not record a pending erasure, so one is assumed.
        if !couldOweErasures { try PendingErasure.record(db) }
    }

    // MARK: The log and unused bytes

    // Deleted data must not remain anywhere. `secure_delete` wipes deleted rows, but not the copies of them that SQLite
    // leaves in the unused part of a page when it moves rows from one page to another.

    /// Empties the log, then wipes the unused bytes of some pages of the file.
    ///
    /// Other work on the index may run before and after each call. Wiping may be interrupted at any point, because
    /// SQLite ignores these bytes.
    ///
    /// - Parameters:
    ///   - first: the number of the first page to wipe. Page numbers start at 1.
    ///   - count: the number of pages to wipe.
    ///   - patience: how long to wait for another program that is reading the log.
    /// - Returns: the number of the page to continue with; nil if no pages are left.
    /// - Throws: ``VaultError`` with code `owned` if another program keeps reading the log.
    func wipeUnusedBytes(from first: Int64, count: Int64, patience: Duration) throws -> Int64? {
        try retryingWhileBusy(patience) { db in
            try Self.emptyLog(db)
            let next = try IndexFile(db).wipe(from: first, count: count)
            // Without this, SQLite could write back a cached page as it was before the wipe.
            try db.execute(sql: "PRAGMA shrink_memory")
            return next
        }
    }

    /// Empties the log into the file, so that neither of them holds deleted data.
    ///
    /// - Throws: ``VaultError`` with code `owned` if another program keeps reading the log.
    func truncateLog(patience: Duration = .seconds(5)) throws {
        try retryingWhileBusy(patience) { db in try Self.emptyLog(db) }
    }

    /// Lets the next write start at the beginning of the log, unless a reader still needs the log. This takes no disk
    /// space.
    func reuseLog() throws {
        try withoutTransaction { db in _ = try db.checkpoint(.passive) }
    }

    private static func emptyLog(_ db: Database) throws {
        // The timeout is only 5 ms, so that other work on this connection can run between the attempts of
        // `retryingWhileBusy`.
        try db.execute(sql: "PRAGMA busy_timeout = 5")
        let isBusy = Result { try Bool.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? true }
        try db.execute(sql: "PRAGMA busy_timeout = \(Int(busyTimeout * 1000))")
        guard try !isBusy.get() else {
            throw VaultError(.owned, "the index's log cannot be emptied while another program reads it")
        }
    }

    /// Runs work on the connection, and retries it while another program blocks it.
    private func retryingWhileBusy<Value>(_ patience: Duration, _ body: (Database) throws -> Value) throws -> Value {
        let end = ContinuousClock.now + patience
        while true {
            do {
                return try withoutTransaction(body)
            } catch let error as VaultError where error.code == .owned {
                guard ContinuousClock.now < end else { throw error }
                // Poll, because the other program does not signal when it is done.
                Thread.sleep(forTimeInterval: 0.02)
            }
        }
    }
}
