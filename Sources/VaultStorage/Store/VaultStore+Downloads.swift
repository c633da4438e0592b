package import VaultModel

// The download queue.
extension VaultStore {
    /// Writes entries of the download queue, in one transaction.
    ///
    /// - Parameter isDurable: whether they must survive a power loss.
    package func write(_ downloads: [QueuedDownload], isDurable: Bool) throws {
        guard !downloads.isEmpty else { return }
        noteChange(downloads.count)
        try withDiskSpace { try index.write(downloads, isDurable: isDurable) }
    }

    /// Deletes entries of the download queue, in one transaction.
    ///
    /// - Parameter isForgotten: whether to erase copies of them, too.
    package func removeDownloads(_ ids: [DownloadID], isForgotten: Bool) throws {
        guard !ids.isEmpty else { return }
        noteChange(ids.count)
        try withDiskSpace(orReserve: true) { try index.removeDownloads(ids, isForgotten: isForgotten) }
    }

    /// Deletes the whole download queue, including rows that do not open, and has their copies erased.
    package func removeAllDownloads() throws {
        noteChange()
        try withDiskSpace(orReserve: true) { try index.removeAllDownloads() }
    }
}
