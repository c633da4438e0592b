import VaultCrypto
import VaultModel
import VaultStorage

// What there is to see of a vault.
extension Vault {
    /// All resources, a page at a time, in no order that means anything.
    public func resources() -> ResourceListing { ResourceListing(store: store, pool: pool) }

    /// What the vault holds of a resource; nil where it has never seen it.
    public func summary(of reference: MediaReference) async throws -> ResourceSummary? {
        let store = store
        let id = try await name(reference).id
        return try await pool.run {
            try store.index.resource(id).map { ResourceSummary($0) }
        }
    }

    /// Counts and state of the vault.
    public func status() async throws -> VaultStatus {
        let store = store
        let rests = unlockRestsWithVault
        let failure = passage.withLock { $0.failure }
        let limits = try await limitsInForce()
        return try await pool.run {
            let totals = try store.index.totals()
            let (tally, used) = (store.tally, try store.bytesUsed())
            return VaultStatus(
                vaultID: store.keyring.vaultID.hex, resources: totals.resources, bytes: totals.bytes,
                segments: totals.segments, bytesFetched: try store.bytesFetched(),
                generation: store.keyring.currentGeneration, keysLocked: MemoryLock.shared.refusal == nil,
                swapInReach: SwapReach.isOpen,
                unlockMethod: store.keyring.unlockedBy.rawValue, used: used, limits: limits,
                passedThrough: tally.passedThrough, evicted: tally.evicted, storeFailure: failure,
                unlockRestsWithVault: rests)
        }
    }
}
