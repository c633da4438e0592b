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
