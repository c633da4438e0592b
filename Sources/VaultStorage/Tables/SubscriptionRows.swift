import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// The rows of the subscriptions.
package struct SubscriptionRows {
    let store: VaultStore

    /// Returns the subscriptions, the oldest first, and the number of rows that do not open.
    package func all() throws -> (subscriptions: [MediaSubscription], damaged: Int) {
        try store.index.read { db in
            guard try SealedTable.subscriptions.exists(db) else { return ([], 0) }
            let (found, damaged) = try Self.all(store.index.recordKeys(db), db)
            return (found.sorted { ($0.added, $0.id.hex) < ($1.added, $1.id.hex) }, damaged)
        }
    }

    private static func all(_ keys: RecordKeys, _ db: Database) throws -> (found: [MediaSubscription], unreadable: Int)
    {
        try SealedTable.subscriptions.records(keys, db) { id, members in
            SubscriptionID(bytes: id).flatMap { MediaSubscription($0, members) }
        }
    }

    /// Writes a subscription durably.
    package func write(_ subscription: MediaSubscription) throws {
        let hasOtherTitles = try store.mutate { index, db in
            let (keys, id) = (try index.recordKeys(db), subscription.id)
            var former: MediaSubscription?
            if case .members(let members) = try SealedTable.subscriptions.content(of: id.bytes, keys, db) {
                former = MediaSubscription(id, members)
            }
            try SealedTable.subscriptions.write(subscription.record, of: id.bytes, keys, db)
            return former?.titles ?? [] != subscription.titles
        }
        // Whose titles a feed names, and so to which collection they belong, is no part of the titles.
        if hasOtherTitles { store.changes.noteAll() }
    }

    /// Deletes subscriptions durably, and has all copies of them erased.
    package func remove(_ ids: [SubscriptionID]) throws {
        try store.mutate(count: ids.count, isVital: true) { _, db in
            try SealedTable.subscriptions.delete(ids.map(\.bytes), db)
        }
        store.changes.noteAll()
    }

    /// Deletes all subscriptions durably, including rows that do not open, and has all copies of them erased.
    package func removeAll() throws {
        try store.mutate(isVital: true) { _, db in try SealedTable.subscriptions.deleteAll(db) }
        store.changes.noteAll()
    }

    /// Replaces title ids in the subscriptions with their new ids, and has the subscriptions' feeds read again.
    ///
    /// - Parameter titles: the ids, under a new locator, of titles in the download queue, keyed by their former ids.
    static func rename(_ titles: [TitleID: TitleID], _ keys: RecordKeys, _ db: Database) throws {
        for var subscription in try all(keys, db).found {
            subscription.rename(titles)
            try SealedTable.subscriptions.write(subscription.record, of: subscription.id.bytes, keys, db)
        }
    }
}
