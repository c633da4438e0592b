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
    /// The most rows that are read.
    static let maxCount = 2 * Subscription.maxCount

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

    /// Returns the ids and the records of all rows; a record that is too long is absent.
    static func fetchAll(_ db: Database) throws -> [(id: SubscriptionID, row: SubscriptionRow?)] {
        guard try hasTable(db) else { return [] }
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, CASE WHEN length(record) <= \(maxBytes) THEN record END AS record
                FROM subscription ORDER BY id LIMIT \(maxCount)
                """)
        return try rows.compactMap { row in
            guard let id = SubscriptionID(try row.column("id") as Data) else { return nil }
            let record: Data? = try? row.column("record")
            return (id, record.map { SubscriptionRow(id: id, record: $0.array) })
        }
    }

    /// Adds the row, or replaces it.
    func insert(_ db: Database) throws {
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO main.subscription VALUES (?, ?)")
        try statement.execute(arguments: [id.data, record.data])
    }
}

extension VaultIndex {
    /// Returns the subscriptions, the oldest first, and the ids of the rows that do not open.
    package func subscriptions() throws -> (subscriptions: [Subscription], damaged: [SubscriptionID]) {
        try read { db in
            let rows = try SubscriptionRow.fetchAll(db)
            guard !rows.isEmpty else { return ([], []) }
            let key = try subscriptionKey(db)
            var found: (subscriptions: [Subscription], damaged: [SubscriptionID]) = ([], [])
            for (id, row) in rows {
                if let opened = row?.open(under: key.secret) {
                    found.subscriptions.append(opened)
                } else {
                    found.damaged.append(id)
                }
            }
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

    /// Seals the subscriptions under the key of another locator. One that does not open stays as it is.
    func resealSubscriptions(from old: Int, to new: Int, _ db: Database) throws {
        guard let oldKey = try keyring.indexKey(locator: old), let newKey = try keyring.indexKey(locator: new)
        else { return }
        for (_, row) in try SubscriptionRow.fetchAll(db) {
            guard let opened = row?.open(under: oldKey.secret) else { continue }
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
