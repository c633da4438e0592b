import VaultCache
public import VaultModel
import VaultStorage

/// The space that a vault takes: what its limits remove, and what it reports of its disk.
public struct StorageSpace: Sendable {
    let quota: QuotaEnforcer
    let store: VaultStore
    let pool: BlockingPool

    /// Removes what exceeds the limits, once.
    ///
    /// Resources that were merely played, and not read for the maximum age, are removed first. If the size is still
    /// exceeded, merely played resources are removed before downloads, and downloads only if the limits allow it.
    /// Pinned titles and titles in use are kept.
    ///
    /// - Parameters:
    ///   - limits: the limits to apply; nil for those in force, as far as they can be kept.
    ///   - isDryRun: whether to report what would be removed without removing it.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `invalidArgument` if the size could
    ///   be kept only by removing pinned titles or downloads, in which case nothing is removed.
    public func prune(_ limits: StorageLimits? = nil, isDryRun: Bool = false) async throws -> PruneReport {
        try await quota.prune(limits, isDryRun: isDryRun)
    }

    /// Returns the number of bytes to keep free on the disk if no setting states one; nil if the system does not report
    /// the size of the disk.
    public func standardFree() async throws -> Int64? {
        let store = store
        return try await pool.run { store.quota.standardFree }
    }

    /// Returns what the limits would evict next. None of it is evicted until a limit is reached.
    ///
    /// - Parameter limit: the maximum number of candidates, from 1 to ``EvictionForecast/most``.
    /// - Throws: ``VaultError`` with code `invalidArgument` if `limit` is out of bounds; `owned` if this process is
    ///   not the owner; `storage` if the index cannot be read.
    public func forecast(limit: Int) async throws -> EvictionForecast {
        guard (1...EvictionForecast.most).contains(limit) else {
            throw VaultError(.invalidArgument, "the limit must be between 1 and \(EvictionForecast.most)")
        }
        try store.requireOwner(to: "knows what it evicts next")
        let (store, limits) = (store, try await quota.limitsInForce())
        return try await pool.run {
            let evicted: Set<ResourceClass> = limits.evictsDownloads == true ? [.cache, .download] : [.cache]
            let classes = try SegmentRows(store.index).fileBytesByClass()
            let next = try store.quota.next(limit, of: evicted).compactMap { candidate in
                try store.summary(of: candidate.resource).map {
                    EvictionForecast.Candidate(summary: $0, bytes: candidate.bytes)
                }
            }
            return EvictionForecast(
                used: store.quota.used,
                classes: (classes[.pinned] ?? 0, classes[.download] ?? 0, classes[.cache] ?? 0),
                free: store.quota.freeBytes, limits: limits, next: next)
        }
    }

    /// Returns a stream that reports when bytes begin to pass through unstored, when all are stored again, and
    /// evictions. It ends when the vault is closed.
    public func events() -> AsyncStream<StoreEvent> { quota.events() }

    /// Reports the evictions that have not been reported yet, and ends the streams of ``events()``.
    package func endEvents() { quota.end() }

    /// Returns the evictions that have not been reported yet, without sending them to the listeners.
    package func takeEvictions() -> StoreEvent? { quota.takeEvictions() }

    /// Returns the complete titles that the age limit will remove within ``ExpiringTitle/notice``, the soonest first.
    ///
    /// The age limit applies only to titles that were merely played; pinned titles and downloads are kept.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    public func expiringTitles() async throws -> [ExpiringTitle] {
        guard let age = try await quota.limitsInForce().age else { return [] }
        let store = store
        return try await pool.run {
            let soon = try store.quota.expiring(
                within: ExpiringTitle.notice(ofAge: age), age: age, limit: ExpiringTitle.most)
            return try soon.filter { try store.index.resources.find($0.resource)?.isCompleteTitle ?? false }.map {
                ExpiringTitle(resource: $0.resource, expires: Timestamp(seconds: $0.accessed + age))
            }
        }
    }

    /// Measures the vault's disk; nil if its file system does not report free bytes.
    public func diskSpace() async -> DiskSpace? {
        let store = store
        return try? await pool.run {
            DiskSpace(
                free: try store.fileSystem.freeBytes(at: store.folder),
                size: try store.fileSystem.totalBytes(at: store.folder))
        }
    }
}

extension StoredResource {
    /// Whether the resource stands for a title that is held whole. Losing a fragment of a title is not worth a notice.
    fileprivate var isCompleteTitle: Bool {
        let summary = ResourceSummary(self)
        return summary.title?.isComplete ?? summary.isComplete
    }
}

/// A complete title that the age limit will soon remove.
public struct ExpiringTitle: Hashable, Sendable {
    /// The id of the title's resource.
    public let resource: ResourceID
    /// When the title may be removed.
    public let expires: Timestamp

    /// How many seconds before its removal a title counts as expiring. The period is shorter if the age limit is short.
    public static let notice: Int64 = 86_400
    /// The maximum number of titles returned at a time.
    static let most = 64

    /// Returns how many seconds before its removal a title counts as expiring, if the age limit is `age` seconds.
    static func notice(ofAge age: Int64) -> Int64 { min(notice, age / 2) }
}

/// The size and free space of a vault's disk.
public struct DiskSpace: Hashable, Sendable {
    /// The number of free bytes.
    public let free: Int64
    /// The size of the disk's file system in bytes; nil if the size is not reported.
    public let size: Int64?
}
