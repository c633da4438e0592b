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
    package func hasPendingErasure() throws -> Bool { try pendingErasure() != nil }

    /// Carries out a pending erasure: wipes the index's unused bytes, empties its log, renews the backup.
    ///
    /// - Parameter patience: how long to wait, each time, for a program that reads the log.
    package func carryOutErasure(patience: Duration = erasingTimeout) throws {
        // One erasure at a time. A removal in the meantime renumbers the pending erasure, which then stays pending.
        try erasing.withLock { _ in
            guard let pending = try pendingErasure() else { return }
            counters.withLock { $0.lastErasure = .now }
            try wipeUnusedBytes(patience)
            try backUpCatalog()
            try withDiskSpace(orReserve: true) { try index.write { db in try pending.remove(db) } }
        }
    }

    private func pendingErasure() throws -> PendingErasure? { try index.read { db in try PendingErasure(db) } }

    /// Adds the tables that the first vaults lack.
    ///
    /// - Parameter wasKilled: whether the last owner was killed. Without the table it could not record a pending
    ///   erasure, so one is assumed.
    func addLaterTables(afterKill wasKilled: Bool) throws {
        guard try index.read({ db in try !PendingErasure.hasTable(db) }) else { return }
        try index.write { db in
            for statement in IndexSchema.later { try db.execute(sql: IndexSchema.ifAbsent(statement)) }
            if wasKilled { try PendingErasure.require(db) }
        }
    }

    private func wipeUnusedBytes(_ patience: Duration) throws {
        var next: Int64? = 1
        while let page = next {
            next = try index.database.wipeUnusedBytes(from: page, count: Self.pagesInStep, patience: patience)
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
            try withDiskSpace(orReserve: true) { try index.write { db in try PendingErasure.require(db) } }
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
