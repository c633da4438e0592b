import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The rows of the download queue.
package struct DownloadRows {
    let store: VaultStore
    private static let page = 500

    /// Returns the entries of the queue in no particular order, and the number of rows that do not open.
    package func all() throws -> (downloads: [QueuedDownload], damaged: Int) {
        var downloads: [QueuedDownload] = []
        let rowCount = try store.index.read { db in try SealedTable.downloads.rowCount(db) }
        var last: Data? = Data()
        // The rows are read page by page, so that other work can run in between.
        while let after = last, downloads.count < SealedTable.downloads.maxCount {
            last = try store.index.read { db in
                try SealedTable.downloads.open(after: after, limit: Self.page, store.index.recordKeys(db), db) {
                    id, members in
                    guard let opened = DownloadID(bytes: id).flatMap({ QueuedDownload($0, members) }) else {
                        return false
                    }
                    downloads.append(opened)
                    return true
                }
            }
        }
        // Rows that are added during the loop are opened, too, so there may be more entries than counted rows.
        return (downloads, max(0, rowCount - downloads.count))
    }

    /// Writes entries of the queue, in one transaction.
    ///
    /// - Parameter isDurable: whether the entries must survive a power loss.
    package func write(_ downloads: [QueuedDownload], isDurable: Bool) throws {
        guard !downloads.isEmpty else { return }
        try store.mutate(count: downloads.count, isDurable: isDurable) { index, db in
            let keys = try index.recordKeys(db)
            for download in downloads {
                try SealedTable.downloads.write(download.object, of: download.id.bytes, keys, db)
            }
        }
    }

    /// Deletes entries of the queue, in one transaction.
    ///
    /// - Parameter isForgotten: whether to have copies of the entries erased, too, and to make the deletion survive a
    ///   power loss. An entry whose title was fetched does not need this, because it does no harm if it comes back.
    package func remove(_ ids: [DownloadID], isForgotten: Bool) throws {
        guard !ids.isEmpty else { return }
        try store.mutate(count: ids.count, isVital: true, isDurable: isForgotten) { _, db in
            try SealedTable.downloads.delete(ids.map(\.bytes), isForgotten: isForgotten, db)
        }
    }

    /// Deletes the whole queue, including rows that do not open, in one transaction, and has their copies erased.
    package func removeAll() throws {
        try store.mutate(isVital: true) { _, db in try SealedTable.downloads.deleteAll(db) }
    }

    /// Replaces the title ids in the queue's entries with the ids that the titles have under another locator.
    ///
    /// - Parameters:
    ///   - stored: the resources that were stored before the change. Their titles keep their ids.
    ///   - resource: returns the id, under a locator, of the resource that an order names, whether or not that resource
    ///     is held; nil if the order names none.
    /// - Returns: the new title ids, keyed by the former ones.
    static func rename(
        from old: Int, to new: Int, stored: Set<ResourceID>, resource: (DownloadOrder, _ locator: Int) -> ResourceID?,
        _ keys: RecordKeys, _ db: Database
    ) throws -> [TitleID: TitleID] {
        var titles: [TitleID: TitleID] = [:]
        var renamed: [QueuedDownload] = []
        _ = try SealedTable.downloads.open(keys, db) { id, members in
            // A stored title keeps its id. Any other title will be stored under its new id.
            guard var opened = DownloadID(bytes: id).flatMap({ QueuedDownload($0, members) }),
                let former = resource(opened.order, old), TitleID(of: former) == opened.title,
                !stored.contains(former), let name = resource(opened.order, new)
            else { return true }
            titles[opened.title] = TitleID(of: name)
            opened.title = TitleID(of: name)
            renamed.append(opened)
            return true
        }
        for download in renamed {
            try SealedTable.downloads.write(download.object, of: download.id.bytes, keys, db)
        }
        return titles
    }
}
