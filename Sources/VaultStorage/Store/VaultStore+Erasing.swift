import GRDB
import VaultModel

// Sealed keys that were deleted, or put in another's place, stand in pages of the index, in its log, in `catalog.backup` and in
// copies of the index until they are erased there.
extension VaultStore {
    /// How long a program that reads the index's log is waited for.
    package static let erasingPatience: Duration = .seconds(5)
    /// What was removed by name is erased at once where nothing was erased for so long; else with what else comes.
    static let erasingInterval: Duration = .seconds(60)
    /// The pages of the index that are wiped at a time: whoever plays waits no longer than for these.
    private static let pagesInStep: Int64 = 512

    /// Whether something that was removed, or wrapped under another key, may still stand where it stood.
    package func owesErasure() throws -> Bool { try index.debt() != nil }

    /// Erases what is owed: wipes what no row holds from the index's pages, empties its log, renews the backup.
    ///
    /// - Parameter patience: how long a program that reads the log is waited for, each time.
    package func eraseTraces(patience: Duration = erasingPatience) throws {
        // One at a time. What is removed meanwhile makes the debt another, which stays.
        try erasing.withLock { _ in
            guard let debt = try index.debt() else { return }
            counters.withLock { $0.lastErasure = .now }
            try wipeRemains(patience)
            try backUpCatalog()
            try withDiskRoom(orReserve: true) { try index.pay(debt) }
        }
    }

    private func wipeRemains(_ patience: Duration) throws {
        var next: Int64? = 1
        while let page = next {
            next = try index.wipeRemains(from: page, count: Self.pagesInStep, patience: patience)
        }
    }

    /// Whether so much time has passed that what is removed now is erased now.
    var isErasingDue: Bool {
        counters.withLock { counters in
            counters.lastErasure.map { ContinuousClock.now - $0 >= Self.erasingInterval } ?? true
        }
    }

    /// Does the same, whatever is owed, and removes copies of the index that were put aside.
    ///
    /// - Parameter what: what is done by then, for the words of the error; nil leaves the error as it is.
    /// - Throws: ``VaultError`` where a sealed key may still stand there: it is tried again every minute.
    func eraseKeyCopies(after what: String? = nil) throws {
        do {
            try withDiskRoom(orReserve: true) { try index.oweErasure() }
            try eraseTraces()
            try removeCopies(Self.copies)
        } catch let error as VaultError {
            guard let what else { throw error }
            throw VaultError(
                error.code,
                "\(what) may still stand in the index, its log or catalog.backup; run it again to finish it: \(error)")
        }
    }

    /// The same where nothing stays that a backup could hold.
    func eraseAllKeyCopies() throws {
        counters.withLock { $0.changesSinceBackup = 0 }
        try erasing.withLock { _ in try wipeRemains(Self.erasingPatience) }
        try removeCopies(Self.copies + ["catalog.backup"])
    }

    /// Copies of the index and its backup that may be left over: they hold sealed keys.
    private static let copies = [
        "index.sqlite.damaged", "index.sqlite.damaged-wal", "index.sqlite.new", "index.sqlite.new-wal",
        "index.sqlite.new-shm", "catalog.backup.new",
    ]

    private func removeCopies(_ names: [String]) throws {
        do throws(FileFailure) {
            for name in names { try fileSystem.remove(folder + "/" + name) }
            try fileSystem.synchronizeDirectory(folder)
        } catch {
            throw error.vaultError("a copy of the index cannot be removed")
        }
    }
}

// What is still to be done after something was deleted: written down by the transaction that deletes it.
extension VaultIndex {
    /// That something is to be erased, as it stood when it was read: what is deleted after that is not paid with it.
    struct Debt: Hashable, Sendable { fileprivate let number: Int64 }

    /// Adds the tables that the first vaults were made without.
    ///
    /// - Parameter wasKilled: whether the owner before was killed. One that wrote down no debts may have had some.
    func addLaterTables(afterKill wasKilled: Bool) throws {
        guard try read({ db in try !Self.hasOwed(db) }) else { return }
        try write { db in
            for statement in IndexSchema.later { try db.execute(sql: IndexSchema.ifAbsent(statement)) }
            if wasKilled { try Self.oweErasure(db) }
        }
    }

    private static func hasOwed(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'owed'") ?? false
    }

    /// Writes down that what this transaction deletes is to be erased.
    static func oweErasure(_ db: Database) throws {
        // An owner that found no room for the table when it opened the vault may have some now.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.owed))
        // Whatever stands there, what comes of it is a small number, and another one.
        try db.execute(
            sql: """
                INSERT INTO owed VALUES ('erasure', 1)
                ON CONFLICT (what) DO UPDATE SET number = abs(coalesce(CAST(number AS INTEGER), 0) % 1000000007) + 1
                """)
    }

    /// Writes down that something may still stand where it should not.
    func oweErasure() throws { try write { db in try Self.oweErasure(db) } }

    /// What is to be erased; nil where nothing is.
    func debt() throws -> Debt? {
        try read { db in
            guard try Self.hasOwed(db) else { return nil }
            return try Int64.fetchOne(
                db, sql: "SELECT coalesce(CAST(number AS INTEGER), 0) FROM owed WHERE what = 'erasure'"
            ).map { Debt(number: $0) }
        }
    }

    /// What was owed is done. A debt that has grown since stays.
    func pay(_ debt: Debt) throws {
        try write { db in
            try db.execute(
                sql: "DELETE FROM owed WHERE what = 'erasure' AND coalesce(CAST(number AS INTEGER), 0) = ?",
                arguments: [debt.number])
        }
    }
}
