package import MediaVault

/// The state of a vault as `/api/v1/status` and `status --json` report it.
package struct StatusDocument: Codable, Sendable {
    package struct Unlock: Codable, Sendable {
        package let method: String
        /// Whether the secret that unlocks the keyring is on the vault's own disk.
        package let restsWithVault: Bool
    }

    package let vault: String
    package let resources: Int
    package let segments: Int
    package let bytes: Int64
    package let bytesFetched: Int64
    package let generation: Int
    package let keysLocked: Bool
    /// Whether the memory of the process that has the vault open may be written to a swap device.
    package let swapInReach: Bool
    /// Bytes of segment files on disk, which `maxSize` limits.
    package let used: Int64
    /// Bytes passed through without being stored since the vault was opened.
    package let passedThrough: Int64
    /// Bytes of segment files evicted since the vault was opened.
    package let evicted: Int64
    /// Why the store refuses bytes, while they are passed through unstored.
    package let storeFailure: OrNull<String>
    package let unlock: Unlock

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
        storeFailure = OrNull(status.storeFailure)
        unlock = Unlock(method: status.unlockMethod, restsWithVault: status.isUnlockOnVaultDisk)
    }
}

/// Whether fetched bytes are stored, or how many were evicted: the event `store`.
package struct StoreDocument: Codable, Hashable, Sendable {
    package var isStoring: Bool?
    /// Why bytes are not stored, in a word; ``message`` explains it in a sentence.
    package var reason: String?
    package var message: String?
    /// The bytes that were passed through unstored, reported when storing resumes.
    package var passedThrough: Int64?
    /// The bytes of evicted segment files; an event with this member has no other.
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

/// The result of pruning, as `/api/v1/prunes` and `prune --json` report it.
package struct PruneDocument: Codable, Hashable, Sendable {
    /// The number of titles that were removed completely.
    package let resources: Int
    package let segments: Int
    package let bytes: Int64
    /// The bytes of the remaining segment files.
    package let used: Int64

    package init(_ report: PruneReport) {
        resources = report.resources
        segments = report.segments
        bytes = report.bytes
        used = report.used
    }
}

/// Storage limits, in bytes and seconds; an omitted limit is unspecified, and 0 means no limit.
package struct LimitsDocument: Codable, Hashable, Sendable {
    package var maxSize: SizeText?
    package var maxAge: Int64?
    package var minFree: SizeText?
    /// Whether the size limit may evict titles that were downloaded explicitly.
    package var evictDownloads: Bool?
    /// Whether to report only what would be removed.
    package var dryRun: Bool?

    package init(
        maxSize: SizeText? = nil, maxAge: Int64? = nil, minFree: SizeText? = nil, evictDownloads: Bool? = nil,
        dryRun: Bool? = nil
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
        self.evictDownloads = evictDownloads
        self.dryRun = dryRun
    }

    /// Whether any limit is specified.
    var namesAny: Bool { maxSize != nil || maxAge != nil || minFree != nil || evictDownloads != nil }

    /// Checks the limits.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if one is not valid.
    func check() throws {
        guard (0...ContentInformation.maxBytes).contains(maxAge ?? 0), maxSize != .standard else {
            throw VaultError(.invalidArgument, "a limit must be 0, for no limit, or a positive value")
        }
    }

    /// Returns `limits`, overridden by the limits specified here.
    func applied(to limits: StorageLimits = StorageLimits()) -> StorageLimits {
        StorageLimits(
            maxSize: maxSize?.bytes ?? limits.maxSize, maxAge: maxAge ?? limits.maxAge,
            minFree: minFree.map(\.bytes) ?? limits.minFree, evictsDownloads: evictDownloads ?? limits.evictsDownloads)
    }
}
