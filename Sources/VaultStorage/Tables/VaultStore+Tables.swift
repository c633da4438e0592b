import GRDB

// The tables whose rows are sealed records.
extension VaultStore {
    /// The download queue.
    package var downloads: DownloadRows { DownloadRows(store: self) }
    /// The subscriptions.
    package var subscriptions: SubscriptionRows { SubscriptionRows(store: self) }
    /// The pictures that are set for titles.
    package var covers: CoverRows { CoverRows(store: self) }
    /// The tokens, sessions and named links that the vault has issued.
    package var grants: GrantRows { GrantRows(store: self) }
    /// The viewers, the titles shared with them, and how far they have played them.
    package var viewers: ViewerRows { ViewerRows(store: self) }

    /// Changes rows of the index in one transaction, and counts the changes as not yet in `catalog.backup`.
    ///
    /// If the disk is full, it evicts something that was only played, and tries once more.
    ///
    /// - Parameters:
    ///   - count: the number of changes.
    ///   - isVital: as for ``withDiskSpace(orReserve:_:)``.
    ///   - isDurable: whether the changes must survive a power loss.
    func mutate<Result>(
        count: Int = 1, isVital: Bool = false, isDurable: Bool = true,
        _ body: (VaultIndex, Database) throws -> Result
    ) throws -> Result {
        let result = try withDiskSpace(orReserve: isVital) {
            try isDurable ? index.write { try body(index, $0) } : index.writeWithoutSync { try body(index, $0) }
        }
        // The changes are counted last. Otherwise, a backup written in between would lack them, but reset their count.
        noteChange(count)
        return result
    }
}
