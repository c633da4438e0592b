import VaultCrypto
import VaultModel
import VaultStorage

/// Counts and state of a vault. It says nothing that its owner could not see, and no secret.
public struct VaultStatus: Hashable, Sendable {
    /// The vault's name, 32 hex digits.
    public let vaultID: String
    /// How many resources it knows.
    public let resources: Int
    /// Plaintext bytes that lie sealed in it.
    public let bytes: Int64
    /// Segment files.
    public let segments: Int
    /// Bytes of media that origins have sent since the vault was made.
    public let bytesFetched: Int64
    /// The key generation that new resources use.
    public let generation: Int
    /// Whether all keys lie in locked memory; where not, they may reach the swap device.
    public let keysLocked: Bool
    /// Whether what the process has in memory may be written to a swap device: media always, keys where they are not locked.
    public let swapInReach: Bool
    /// How the keyring was unlocked: `key-file`, `passphrase`, `command` or `credential`.
    public let unlockMethod: String
    /// Bytes of segment files on disk: what ``StorageLimits/maxSize`` limits.
    public let used: Int64
    /// The limits in force.
    public let limits: StorageLimits
    /// Bytes that were handed on without being stored since the vault was opened.
    public let passedThrough: Int64
    /// Bytes of segment files that made room since the vault was opened.
    public let evicted: Int64
    /// What the store refuses with, while bytes are handed on unstored; nil while it takes them.
    public let storeFailure: String?
    /// Whether what unlocks it lies on the vault's own disk: then a stolen disk opens.
    public let unlockRestsWithVault: Bool
}

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
                swapInReach: SwapStatus.isOpen,
                unlockMethod: store.keyring.unlockedBy.rawValue, used: used, limits: limits,
                passedThrough: tally.passedThrough, evicted: tally.evicted, storeFailure: failure,
                unlockRestsWithVault: rests)
        }
    }
}

extension Vault {
    /// Tells once that keys could not be locked in memory: why, and what to do, in a sentence. At once where that is
    /// known already, else when it happens; then the sequence ends. All vaults of a process share the memory for keys.
    public func memoryWarnings() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let telling = Task {
            for await refusal in MemoryLock.shared.refusals() { continuation.yield("\(refusal)") }
            continuation.finish()
        }
        continuation.onTermination = { _ in telling.cancel() }
        return stream
    }
}

extension Vault {
    /// Text that nobody can guess: 32 hexadecimal digits, for what must not occur in media.
    package func freshText() throws -> String { Hex.encode(try SecureRandom.bytes(16, "text")) }
}
