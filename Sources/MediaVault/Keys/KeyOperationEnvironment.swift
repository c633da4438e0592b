import VaultCache
import VaultModel
import VaultStorage

/// What the key operations of an open vault share.
struct KeyOperationEnvironment: Sendable {
    let loaders: LoaderTable
    /// The download queue, from which shredded resources are removed.
    let downloads: DownloadQueue
    /// Held while a subscription runs or is changed.
    let subscriptionChanges: AsyncLock
    /// The audit log, which gets a receipt for each key operation.
    let log: AuditLog
    /// The background tasks that must end before the store closes.
    let tasks: BackgroundTasks
    /// Allows one key operation at a time.
    let lock = KeyOperationLock()

    var store: VaultStore { loaders.environment.store }
    var pool: BlockingPool { loaders.environment.pool }

    /// Runs a key operation while no other one is running. `body` changes the store and writes the receipt, and may
    /// block.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner, or `busy` if another key operation
    ///   is running; any error of `body`.
    func perform<Result: Sendable>(
        _ act: Receipt.Act, _ body: @escaping @Sendable (VaultStore, AuditLog) throws -> Result
    ) async throws -> Result {
        try store.requireOwner(to: "changes its keys")
        let (store, log) = (store, log)
        return try await lock.exclusively(act) {
            try await pool.run { try body(store, log) }
        }
    }
}
