import GRDB
import VaultModel

/// Erases copies of keys that are no longer needed.
///
/// Sealed keys that were deleted or replaced remain in pages of the index, in its log, in `catalog.backup` and in
/// copies of the index until they are erased there.
package final class KeyErasure: Sendable {
    private let index: VaultIndex
    private let backup: CatalogBackup
    private let quota: StorageQuota
    private let folder: String
    private let fileSystem: any FileSystem
    /// Locked during an erasure, so that only one runs at a time.
    private let erasing = Locked(())
    /// When copies of keys were last erased.
    private let last = Locked<ContinuousClock.Instant?>(nil)

    /// The minimum time between two erasures that are caused by removals or by replaced secrets.
    ///
    /// If a removal follows sooner, its erasure is left pending.
    private static let interval: Duration = .seconds(60)
    /// How long to wait for another program that is reading the index's log.
    package static let timeout: Duration = .seconds(5)
    /// The number of pages that are wiped at a time. Playback waits no longer than it takes to wipe these.
    private static let pagesInStep: Int64 = 512

    init(
        _ index: VaultIndex, _ backup: CatalogBackup, _ quota: StorageQuota, vault folder: String,
        fileSystem: any FileSystem
    ) {
        self.index = index
        self.backup = backup
        self.quota = quota
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// Returns the pending erasure; nil if no removed or rewrapped key can remain where it was.
    func pending() throws -> PendingErasure? { try index.read { db in try PendingErasure(db) } }

    /// Returns whether an erasure is pending because a removed or rewrapped key may remain where it was.
    package func isPending() throws -> Bool { try pending() != nil }

    /// Carries out a pending erasure: renews the backup, wipes the index's unused bytes, and empties its log.
    ///
    /// - Parameter patience: how long to wait, each time, for a program that is reading the log.
    package func carryOut(patience: Duration = timeout) throws {
        // A removal during the erasure gives the pending erasure a new number, so that it stays pending.
        try erasing.withLock { _ in
            guard let pending = try pending() else { return }
            last.withLock { $0 = .now }
            // The backup is written before the wipe, because the index must name what was deleted until the backup no
            // longer has it.
            try backup.write(forgetting: true)
            try wipeUnusedBytes(patience)
            try quota.withDiskSpace(orReserve: true) { try index.write { db in try pending.remove(db) } }
        }
    }

    private func wipeUnusedBytes(_ patience: Duration) throws {
        var next: Int64? = 1
        while let page = next {
            next = try index.database.wipeUnusedBytes(from: page, count: Self.pagesInStep, patience: patience)
        }
    }

    /// Whether enough time has passed since the last erasure for a removal to be erased at once.
    var isDue: Bool {
        last.withLock { last in last.map { ContinuousClock.now - $0 >= Self.interval } ?? true }
    }

    /// Erases a secret that was just replaced or deleted, unless something was erased within the last minute. In that
    /// case, the secret waits for the next erasure.
    package func carryOutIfDue() {
        if isDue { try? carryOut(patience: .seconds(1)) }
    }

    /// Erases copies of keys even if no erasure is pending, and removes copies of the index that were kept aside.
    ///
    /// - Parameter what: what the caller has already done, for the error message; nil leaves the error unchanged.
    /// - Throws: ``VaultError`` if a copy of a sealed key may remain; erasing is retried every minute.
    func erase(after what: String? = nil) throws {
        do {
            try quota.withDiskSpace(orReserve: true) { try index.write { db in try PendingErasure.record(db) } }
            try carryOut()
            try remove(copies)
        } catch let error as VaultError {
            guard let what else { throw error }
            throw VaultError(
                error.code,
                "\(what) may remain in the index, its log or catalog.backup; run it again to finish it: \(error)")
        }
    }

    /// Erases all copies of keys, including `catalog.backup`, once nothing is left to back up.
    func eraseAll() throws {
        backup.discardChanges()
        // The backup is removed first, so that nothing can restore its rows if the wipe has to wait.
        try remove(copies + CatalogFiles(in: folder).all)
        try erasing.withLock { _ in try wipeUnusedBytes(Self.timeout) }
    }

    /// The paths at which copies of the index and of its backup may be left over, which hold sealed keys.
    private var copies: [String] {
        let unfinished = IndexDatabase.Unfinished.allCases
            .flatMap { name in ["", "-wal", "-shm"].map { name.rawValue + $0 } }
        return ([".damaged", ".damaged-wal"] + unfinished).map { folder + "/index.sqlite" + $0 }
            + CatalogFiles(in: folder).temporary
    }

    private func remove(_ paths: [String]) throws {
        do throws(FileFailure) {
            for path in paths { try fileSystem.remove(path) }
            try fileSystem.synchronizeDirectory(folder)
        } catch {
            throw error.vaultError("a copy of the index cannot be removed")
        }
    }
}
