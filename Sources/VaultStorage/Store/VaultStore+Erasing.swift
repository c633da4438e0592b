import VaultModel

// Sealed keys that were deleted, or put in another's place, stand in pages of the index, in its log, in `catalog.backup` and in
// copies of the index until they are erased there.
extension VaultStore {
    /// Makes tables of the index anew, renews the backup and empties the log, where something was removed since.
    package func eraseTraces() throws {
        // One at a time, and the mark is taken before: what is removed meanwhile sets it again.
        try erasing.withLock { _ in
            let owed = counters.withLock { counters in
                defer { counters.erasure = nil }
                return counters.erasure
            }
            guard let owed else { return }
            do {
                try withDiskRoom { try index.renew(owed.tables) }
                try backUpCatalog()
                try index.truncateLog()
            } catch {
                counters.withLock { $0.owe(owed) }
                throw error
            }
        }
    }

    /// Does the same and removes copies of the index that were put aside, whoever wrote there: an owner that was killed,
    /// too.
    ///
    /// - Parameters:
    ///   - erasure: what may stand there.
    ///   - what: what is done by then, for the words of the error; nil leaves the error as it is.
    /// - Throws: ``VaultError`` where a sealed key may still stand there: it is tried again every minute.
    func eraseKeyCopies(_ erasure: Erasure, after what: String? = nil) throws {
        counters.withLock { $0.owe(erasure) }
        do {
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
        try withDiskRoom { try index.renew(Erasure.titles.tables) }
        try index.truncateLog()
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
