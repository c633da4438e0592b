package import VaultModel

// The subscriptions.
extension VaultStore {
    /// Writes a subscription durably.
    package func write(_ subscription: Subscription) throws {
        noteChange()
        try withDiskSpace { try index.write(subscription) }
    }

    /// Deletes subscriptions durably.
    package func removeSubscriptions(_ ids: [SubscriptionID]) throws {
        noteChange(ids.count)
        try withDiskSpace(orReserve: true) { try index.removeSubscriptions(ids) }
    }

    /// Deletes all subscriptions durably, including those whose rows do not open.
    package func removeAllSubscriptions() throws {
        noteChange()
        try withDiskSpace(orReserve: true) { try index.removeAllSubscriptions() }
    }
}
