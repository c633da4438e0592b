package import MediaVault

/// The state of a vault as `/api/v1/status` and `status --json` tell it.
package struct StatusDocument: Codable, Sendable {
    package struct Unlock: Codable, Sendable {
        package let method: String
        /// Whether what opens the keyring is on the vault's own disk.
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
    /// Bytes of segment files on disk: what `maxSize` limits.
    package let used: Int64
    /// Bytes that were handed on without being stored since the vault was opened.
    package let passedThrough: Int64
    /// Bytes of segment files that made room since then.
    package let evicted: Int64
    /// What the store refuses with, while bytes are handed on unstored.
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
        unlock = Unlock(method: status.unlockMethod, restsWithVault: status.unlockRestsWithVault)
    }
}

/// Whether the store takes what comes, and what made room: the event `store`.
package struct StoreDocument: Codable, Hashable, Sendable {
    package var isStoring: Bool?
    /// Why not, in a word and in a sentence.
    package var reason: String?
    package var message: String?
    /// The bytes that went by unstored, once it takes them again.
    package var passedThrough: Int64?
    /// The bytes of files that made room; where it is there, the event says nothing of what comes.
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

/// What pruning let go, as `/api/v1/prunes` and `prune --json` tell it.
package struct PruneDocument: Codable, Hashable, Sendable {
    /// Titles that went whole.
    package let resources: Int
    package let segments: Int
    package let bytes: Int64
    /// The bytes of segment files that are left.
    package let used: Int64

    package init(_ report: PruneReport) {
        resources = report.resources
        segments = report.segments
        bytes = report.bytes
        used = report.used
    }
}

/// Limits of room: sizes and seconds; one that is left out is not meant, and 0 is no limit.
package struct LimitsDocument: Codable, Hashable, Sendable {
    package var maxSize: SizeText?
    package var maxAge: Int64?
    package var minFree: SizeText?
    /// Whether the size may cost titles that were fetched by name.
    package var evictDownloads: Bool?
    /// Whether it is only told what would go.
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

    /// Whether it names any.
    var namesAny: Bool { maxSize != nil || maxAge != nil || minFree != nil || evictDownloads != nil }

    /// - Throws: ``VaultError`` with code `invalidArgument` where one is no limit.
    func check() throws {
        guard (0...ContentInformation.mostBytes).contains(maxAge ?? 0), maxSize != .standard else {
            throw VaultError(.invalidArgument, "a limit is 0, which is none, or more than 0; correct it")
        }
    }

    /// The limits it names in place of those it is laid over.
    func laid(over limits: StorageLimits = StorageLimits()) -> StorageLimits {
        StorageLimits(
            maxSize: maxSize?.bytes ?? limits.maxSize, maxAge: maxAge ?? limits.maxAge,
            minFree: minFree.map(\.bytes) ?? limits.minFree, evictsDownloads: evictDownloads ?? limits.evictsDownloads)
    }
}
