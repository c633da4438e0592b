import GRDB

// The tables whose rows are sealed records.
extension VaultStore {
    /// The download queue.
    package var downloads: DownloadRows { DownloadRows(store: self) }
    /// The subscriptions.
    package var subscriptions: SubscriptionRows { SubscriptionRows(store: self) }
    /// The tokens, sessions and named links that the vault has issued.
    package var grants: GrantRows { GrantRows(store: self) }
    /// The viewers, what is shared with them, and how far they have played.
    package var viewers: ViewerRows { ViewerRows(store: self) }

    /// Changes rows of the index in one transaction, and counts the changes that `catalog.backup` then lacks.
    ///
    /// If the disk is full, evicts something and tries once more.
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
        // Counted last, because a backup written in between would lack the changes and end the count.
        noteChange(count)
        return result
    }
}
