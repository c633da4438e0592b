package import MediaVault

/// The state of a vault as `/api/v1/status` and `status --json` report it.
package struct StatusDocument: Codable, Sendable {
    package struct Unlock: Codable, Sendable {
        package let method: String
        /// Whether the secret that unlocks the keyring is stored on the vault's own disk.
        package let restsWithVault: Bool
    }

    package let vault: String
    package let resources: Int
    package let segments: Int
    package let bytes: Int64
    package let bytesFetched: Int64
    package let generation: Int
    package let keysLocked: Bool
    /// Whether the system may swap out memory of the process that has the vault open.
    package let swapInReach: Bool
    /// The number of bytes that segment files use on disk, which `maxSize` limits.
    package let used: Int64
    /// The number of bytes passed through without being stored since the vault was opened.
    package let passedThrough: Int64
    /// The number of bytes in the segment files evicted since the vault was opened.
    package let evicted: Int64
    /// Why the vault currently passes bytes through without storing them; null if it stores them.
    @OrNull package var storeFailure: String?
    package let unlock: Unlock
    /// The number of download queue entries in each state.
    package let downloads: DownloadCounts
    /// The number of subscriptions, and of those that have failed for a day or longer.
    package let feeds: SubscriptionCounts

    package init(_ status: VaultStatus) {
        vault = status.vaultID
        resources = status.resources
        segments = status.segments
        bytes = status.bytes
        bytesFetched = status.bytesFetched
        generation = status.generation
        keysLocked = status.keysLocked
        swapInReach = status.swapInReach
        used = status.used
        passedThrough = status.passedThrough
        evicted = status.evicted
        storeFailure = status.storeFailure
        downloads = status.downloads
        feeds = status.feeds
        unlock = Unlock(method: status.unlockMethod, restsWithVault: status.isUnlockOnVaultDisk)
    }
}

/// The content of the event `store`: whether the vault stores fetched bytes, or the number of bytes that it evicted.
package struct StoreDocument: Codable, Hashable, Sendable {
    package var isStoring: Bool?
    /// Why bytes are not stored, as one word. ``message`` states the reason in a sentence.
    package var reason: String?
    package var message: String?
    /// The number of bytes that the vault passed through without storing them, reported when storing resumes.
    package var passedThrough: Int64?
    /// The number of bytes in the evicted segment files. An event with this member has no others.
    package var evicted: Int64?

    package init(_ event: StoreEvent) {
        switch event {
        case .passingThrough(let refusal, let sentence):
            isStoring = false
            reason = refusal.rawValue
            message = sentence
        case .storing(let bytes):
            isStoring = true
            passedThrough = bytes
        case .evicted(_, _, let bytes): evicted = bytes
        }
    }
}
