import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// The counts and the state of a vault. They contain no secrets, and nothing that the vault's owner could not see.
public struct VaultStatus: Hashable, Sendable {
    /// The vault's id, as 32 hex digits.
    public let vaultID: String
    /// The number of resources; a title counts as one, with all its parts.
    public let resources: Int
    /// The number of plaintext bytes sealed in the vault.
    public let bytes: Int64
    /// The number of segment files.
    public let segments: Int
    /// The number of media bytes that origins have sent since the vault was created.
    public let bytesFetched: Int64
    /// The generation that new resources use.
    public let generation: Int
    /// Whether all keys are in locked memory. If not, they may be written to the swap device.
    public let keysLocked: Bool
    /// Whether this process's memory may be written to a swap device. In that case media can be written there, and also
    /// keys that are not locked.
    public let swapInReach: Bool
    /// How the keyring was unlocked: `key-file`, `passphrase`, `command` or `credential`.
    public let unlockMethod: String
    /// The size of the segment files in bytes, which ``StorageLimits/maxSize`` limits.
    public let used: Int64
    /// The limits in force.
    public let limits: StorageLimits
    /// The number of bytes delivered without being stored since the vault was opened.
    public let passedThrough: Int64
    /// The size in bytes of the segment files evicted since the vault was opened.
    public let evicted: Int64
    /// Why nothing is stored: the store's refusal while bytes are delivered unstored, or a full disk; nil while the store
    /// accepts bytes.
    public let storeFailure: String?
    /// Whether the secret that unlocks the vault is on the vault's own disk, so that a stolen disk can be opened.
    public let isUnlockOnVaultDisk: Bool
    /// The number of entries in each state of the download queue.
    public let downloads: DownloadCounts
    /// The number of subscriptions, and of those that fail.
    public let feeds: SubscriptionCounts
}

extension Vault {
    /// Returns the counts and the state of the vault.
    public func status() async throws -> VaultStatus {
        let store = store
        let rests = isUnlockOnVaultDisk
        let failure = quota.failure
        let limits = try await quota.limitsInForce()
        let counts = try await queue.counts()
        let feeds = try await subscriptions.counts()
        return try await pool.run {
            let totals = try store.index.resources.totals()
            let used = try store.bytesUsed()
            return VaultStatus(
                vaultID: store.keyring.vaultID.hex, resources: totals.resources, bytes: totals.bytes,
                segments: totals.segments, bytesFetched: try store.bytesFetched(),
                generation: store.keyring.currentGeneration, keysLocked: MemoryLock.shared.refusal == nil,
                swapInReach: SwapStatus.isOpen,
                unlockMethod: store.keyring.unlockedBy.rawValue, used: used, limits: limits,
                passedThrough: store.work.passedThrough.total, evicted: store.quota.evictions.bytes,
                storeFailure: failure ?? store.quota.diskRefusal()?.message,
                isUnlockOnVaultDisk: rests, downloads: counts, feeds: feeds)
        }
    }

    /// Whether this process may change the vault. If it only reads the vault, it stores nothing.
    public var isOwner: Bool { store.isOwner }

    /// The amount of work done since the vault was opened.
    package var work: VaultWork {
        let work = store.work
        return VaultWork(
            fetched: work.fetched.total, opened: work.opened.total, sealed: work.sealed.total,
            damaged: work.damaged.total, originErrors: loaders.environment.originErrors.all)
    }

    /// Returns an unguessable text of 32 hexadecimal digits, for use as a marker that must not occur in media.
    package func randomText() throws -> String { Hex.encode(try SecureRandom.bytes(16, "text")) }
}

/// The amount of work that a vault has done since it was opened.
package struct VaultWork: Hashable, Sendable {
    /// The number of media bytes that origins have sent.
    package let fetched: Int64
    /// The number of plaintext bytes that were opened.
    package let opened: Int64
    /// The number of plaintext bytes that were sealed.
    package let sealed: Int64
    /// The number of blocks and files that failed their check when they were read.
    package let damaged: Int64
    /// The number of failed requests to origins, by kind. A kind that did not occur is absent.
    package let originErrors: [OriginErrors.Kind: Int64]
}
