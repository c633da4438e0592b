import Foundation
import GRDB
import VaultCrypto
package import VaultModel

/// A row of `subscription`: a list of titles that the vault follows, sealed like the vault's settings.
struct SubscriptionRow: Sendable {
    let id: SubscriptionID
    let record: [UInt8]

    /// The largest sealed record, in bytes: no writer writes a larger one.
    static let maxBytes = 1 << 20
    /// The most rows that are opened.
    static let maxCount = 2 * Subscription.maxCount
    /// The SQL condition for a row whose id is possible.
    private static let hasID = "(typeof(id) = 'blob' AND length(id) = 16)"

    /// Opens the record; nil if it does not open, or is not what a writer writes.
    func open(under key: borrowing SecretKey) -> Subscription? {
        SealedDocument.open(record, key: key, associatedData: Self.recordData(id)).flatMap { Subscription(id, $0) }
    }

    /// Seals a subscription.
    static func sealing(_ subscription: Subscription, under key: borrowing SecretKey) throws -> SubscriptionRow {
        let record = try SealedDocument.seal(
            subscription.record, key: key, associatedData: recordData(subscription.id))
        guard record.count <= maxBytes else {
            throw VaultError(.invalidArgument, "the subscription has too many titles; want fewer of the newest")
        }
        return SubscriptionRow(id: subscription.id, record: record)
    }

    private static func recordData(_ id: SubscriptionID) -> [UInt8] {
        SealedDocument.associatedData("subscription", "record", id.bytes)
    }

    /// Returns whether a database has the table, which older vaults lack.
    static func hasTable(of schema: String = "main", _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT 1 FROM \(schema).sqlite_master WHERE type = 'table' AND name = 'subscription'")
        return try Bool.fetchOne(statement) ?? false
    }

    /// Opens the rows under a key: at most ``maxCount``.
    ///
    /// - Returns: the subscriptions, and the number of rows that do not open, whatever their ids are.
    static func openAll(
        under key: borrowing SecretKey, _ db: Database
    ) throws -> (subscriptions: [Subscription], damaged: Int) {
        guard try hasTable(db) else { return ([], 0) }
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM subscription") ?? 0
        // A cursor holds one record at a time.
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT id, CASE WHEN length(record) <= \(maxBytes) THEN record END AS record
                FROM subscription WHERE \(hasID)
                """)
        var found: [Subscription] = []
        while found.count < maxCount, let row = try rows.next() {
            guard let id = SubscriptionID(try row.column("id") as Data), let record = try? row.column("record") as Data,
                let opened = SubscriptionRow(id: id, record: record.array).open(under: key)
            else { continue }
            found.append(opened)
        }
        return (found, count - found.count)
    }

    /// Adds the row, or replaces it.
    func insert(_ db: Database) throws {
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO main.subscription VALUES (?, ?)")
        try statement.execute(arguments: [id.data, record.data])
    }
}

extension VaultIndex {
    /// Returns the subscriptions, the oldest first, and the number of rows that do not open.
    package func subscriptions() throws -> (subscriptions: [Subscription], damaged: Int) {
        try read { db in
            guard try SubscriptionRow.hasTable(db) else { return ([], 0) }
            let key = try subscriptionKey(db)
            var found = try SubscriptionRow.openAll(under: key.secret, db)
            found.subscriptions.sort { ($0.added, $0.id.hex) < ($1.added, $1.id.hex) }
            return found
        }
    }

    /// Writes a subscription durably.
    package func write(_ subscription: Subscription) throws {
        try write { db in
            let key = try subscriptionKey(db)
            // An owner that had no space for the table when it opened the vault may have space now.
            if try !SubscriptionRow.hasTable(db) {
                try db.execute(sql: IndexSchema.ifAbsent(IndexSchema.subscription))
            }
            try SubscriptionRow.sealing(subscription, under: key.secret).insert(db)
        }
    }

    /// Deletes subscriptions durably; copies of them are erased, too.
    package func removeSubscriptions(_ ids: [SubscriptionID]) throws {
        try write { db in
            guard try SubscriptionRow.hasTable(db) else { return }
            for id in ids { try db.execute(sql: "DELETE FROM subscription WHERE id = ?", arguments: [id.data]) }
            try PendingErasure.record(db)
        }
    }

    /// Deletes all subscriptions durably, also the rows that do not open; copies of them are erased, too.
    package func removeAllSubscriptions() throws {
        try write { db in
            guard try SubscriptionRow.hasTable(db) else { return }
            try db.execute(sql: "DELETE FROM subscription")
            try PendingErasure.record(db)
        }
    }

    /// Seals the subscriptions under the key of another locator. One that does not open stays as it is.
    ///
    /// - Parameter titles: the titles of the download queue that have another id under the new locator.
    func resealSubscriptions(from old: Int, to new: Int, titles: [TitleID: TitleID], _ db: Database) throws {
        guard let oldKey = try keyring.indexKey(locator: old), let newKey = try keyring.indexKey(locator: new)
        else { return }
        for var opened in try SubscriptionRow.openAll(under: oldKey.secret, db).subscriptions {
            opened.rename(titles)
            try SubscriptionRow.sealing(opened, under: newKey.secret).insert(db)
        }
    }

    /// Returns the key of the locator that the vault's row names.
    private func subscriptionKey(_ db: Database) throws -> SharedKey {
        guard let locator = try VaultRow.fetch(db)?.locator, let key = try keyring.indexKey(locator: locator) else {
            throw VaultError(
                .foreignKeyring, "the keyring lacks the key of this vault's subscriptions; use the newer keyring")
        }
        return key
    }
}
