import GRDB
import VaultModel

// Sealed keys that were deleted or replaced remain in pages of the index, in its log, in `catalog.backup` and in copies
// of the index until they are erased there.
extension VaultStore {
    /// How long to wait for another program that reads the index's log.
    package static let erasingTimeout: Duration = .seconds(5)
    /// The shortest time between two erasures that removals by name cause.
    ///
    /// A removal before that leaves its erasure pending.
    static let erasingInterval: Duration = .seconds(60)
    /// The number of pages that are wiped at a time; playback waits no longer than for these.
    private static let pagesInStep: Int64 = 512

    /// Returns whether an erasure is pending: a removed or rewrapped key may remain where it was.
    package func hasPendingErasure() throws -> Bool { try index.debt() != nil }

    /// Carries out a pending erasure: wipes the index's unused bytes, empties its log, renews the backup.
    ///
    /// - Parameter patience: how long to wait, each time, for a program that reads the log.
    package func carryOutErasure(patience: Duration = erasingTimeout) throws {
        // One erasure at a time. A removal in the meantime renumbers the pending erasure, which then stays pending.
        try erasing.withLock { _ in
            guard let debt = try index.debt() else { return }
            counters.withLock { $0.lastErasure = .now }
            try wipeUnusedBytes(patience)
            try backUpCatalog()
            try withDiskSpace(orReserve: true) { try index.pay(debt) }
        }
    }

    private func wipeUnusedBytes(_ patience: Duration) throws {
        var next: Int64? = 1
        while let page = next {
            next = try index.wipeUnusedBytes(from: page, count: Self.pagesInStep, patience: patience)
        }
    }

    /// Whether enough time has passed to erase a removal at once.
    var isErasingDue: Bool {
        counters.withLock { counters in
            counters.lastErasure.map { ContinuousClock.now - $0 >= Self.erasingInterval } ?? true
        }
    }

    /// Erases even if no erasure is pending, and removes copies of the index that were kept aside.
    ///
    /// - Parameter what: what has been done by then, for the message of the error; nil leaves the error as it is.
    /// - Throws: ``VaultError`` if a sealed key may remain there; erasing is retried every minute.
    func eraseKeyCopies(after what: String? = nil) throws {
        do {
            try withDiskSpace(orReserve: true) { try index.requireErasure() }
            try carryOutErasure()
            try removeCopies(Self.copies)
        } catch let error as VaultError {
            guard let what else { throw error }
            throw VaultError(
                error.code,
                "\(what) may remain in the index, its log or catalog.backup; run it again to finish it: \(error)")
        }
    }

    /// Erases all copies of keys, including `catalog.backup`, when nothing is left that it could back up.
    func eraseAllKeyCopies() throws {
        counters.withLock { $0.changesSinceBackup = 0 }
        try erasing.withLock { _ in try wipeUnusedBytes(Self.erasingTimeout) }
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

// Pending erasures: the transaction that deletes something also records that it is still to be erased.
extension VaultIndex {
    /// A pending erasure as it was when read: carrying it out does not cover later deletions.
    struct PendingErasure: Hashable, Sendable { fileprivate let number: Int64 }

    /// Adds the tables that the first vaults lack.
    ///
    /// - Parameter wasKilled: whether the last owner was killed. Without the table it could not record a pending
    ///   erasure, so one is assumed.
    func addLaterTables(afterKill wasKilled: Bool) throws {
        guard try read({ db in try !Self.hasOwed(db) }) else { return }
        try write { db in
            for statement in IndexSchema.later { try db.execute(sql: IndexSchema.ifAbsent(statement)) }
            if wasKilled { try Self.requireErasure(db) }
        }
    }

    private static func hasOwed(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'owed'") ?? false
    }

    /// Records that what this transaction deletes is to be erased.
    static func requireErasure(_ db: Database) throws {
        // An owner that had no space for the table when it opened the vault may have space now.
        try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.owed))
        // Whatever value the row has, the new one is a small number that differs from it.
        try db.execute(
            sql: """
                INSERT INTO owed VALUES ('erasure', 1)
                ON CONFLICT (what) DO UPDATE SET number = abs(coalesce(CAST(number AS INTEGER), 0) % 1000000007) + 1
                """)
    }

    /// Records that deleted data may remain somewhere.
    func requireErasure() throws { try write { db in try Self.requireErasure(db) } }

    /// Returns the pending erasure; nil if there is none.
    func debt() throws -> PendingErasure? {
        try read { db in
            guard try Self.hasOwed(db) else { return nil }
            return try Int64.fetchOne(
                db, sql: "SELECT coalesce(CAST(number AS INTEGER), 0) FROM owed WHERE what = 'erasure'"
            ).map { PendingErasure(number: $0) }
        }
    }

    /// Records that an erasure was carried out. If it was renumbered since, it stays pending.
    func pay(_ debt: PendingErasure) throws {
        try write { db in
            try db.execute(
                sql: "DELETE FROM owed WHERE what = 'erasure' AND coalesce(CAST(number AS INTEGER), 0) = ?",
                arguments: [debt.number])
        }
    }
}
