package import VaultModel
import VaultStorage

/// Keeps a vault within its limits, and reports the consequences: bytes that pass through unstored, and evictions.
package final class QuotaEnforcer: Sendable {
    private let loaders: LoaderTable
    /// The limits for this run of the process, which override those in the settings.
    package let limitsOfRun: StorageLimits?
    /// Detects bytes that pass through unstored, and keeps the listeners.
    private let bypassMonitor = Locked(BypassMonitor())
    private let pace = Locked(QuotaPace())
    /// Decides whether the wall clock is trusted.
    private let clock = Locked(WallClockMonitor())
    private let evictionNotice = Locked(EvictionNotice())

    package init(loaders: LoaderTable, limitsOfRun: StorageLimits?) {
        self.loaders = loaders
        self.limitsOfRun = limitsOfRun
    }

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    // MARK: Limits

    /// Returns the limits that are stored in the settings.
    package func settings() async throws -> StorageLimits {
        let store = store
        return try await pool.run { try store.index.settings().limits }
    }

    /// Checks that no limit is negative or too large.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a limit is out of bounds.
    package static func check(_ limits: StorageLimits) throws {
        let all = [limits.maxSize ?? 0, limits.maxAge ?? 0, limits.minFree ?? 0]
        guard all.allSatisfy({ (0...ContentInformation.maxBytes).contains($0) }) else {
            throw VaultError(.invalidArgument, "a limit must be 0 (no limit) or a positive number")
        }
    }

    /// Enforces limits that have been written to the settings. The age limit is enforced later, once the wall clock is
    /// trusted. Blocks.
    package func keep(to limits: StorageLimits) throws {
        store.quota.enforce(limitsOfRun?.over(limits) ?? limits)
        var inForce = store.quota.limits
        inForce.maxAge = nil
        _ = try store.quota.prune(inForce)
    }

    /// Removes what exceeds the given limits, or those in force, once; see ``StorageSpace/prune(_:isDryRun:)``.
    package func prune(_ limits: StorageLimits?, isDryRun: Bool) async throws -> PruneReport {
        try store.requireOwner(to: "prunes titles")
        let (store, inForce) = (store, try await limitsInForce())
        return try await pool.run {
            var limits = limits
            if limits?.evictsDownloads == nil { limits?.evictsDownloads = inForce.evictsDownloads }
            if let limits { try store.quota.requireAttainable(limits) }
            let wanted = limits ?? inForce
            let gone = isDryRun ? try store.quota.previewPrune(wanted) : try store.quota.prune(wanted)
            return PruneReport(
                resources: gone.resources, segments: gone.segments, bytes: gone.bytes,
                used: store.quota.used - (isDryRun ? gone.bytes : 0))
        }
    }

    /// Rejects a size limit of this run that could be kept only by removing what no limit may remove.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if there is such a limit.
    package func requireReachableLimits() async throws {
        guard limitsOfRun?.size != nil else { return }
        let store = store
        try await pool.run { try store.quota.requireAttainable(store.quota.limits) }
    }

    /// Returns the limits in force.
    package func limitsInForce() async throws -> StorageLimits {
        let store = store
        return try await pool.run { try store.limitsInForce() }
    }

    /// Makes the store enforce the limits, and protect the resources that are in use.
    package func enforceLimits() async {
        store.quota.setResourceUse(
            ResourceUse(
                all: { [weak loaders] in loaders?.resourcesInUse ?? [] },
                forget: { [weak loaders] in loaders?.removeIfIdle($0) ?? true }))
        let (store, ofRun) = (store, limitsOfRun)
        // If the settings are invalid, the next request for them reports that.
        let settings = try? await pool.run { try store.index.settings().limits }
        store.quota.enforce(ofRun?.over(settings ?? StorageLimits()) ?? settings ?? StorageLimits())
    }

    /// Keeps some disk space in reserve, which can be freed when the disk is full.
    package func createReserve() async {
        let store = store
        try? await pool.run { store.quota.keepReserve() }
    }

    // MARK: Events

    /// Returns a stream that reports when bytes begin to pass through unstored, when all are stored again, and
    /// evictions.
    package func events() -> AsyncStream<StoreEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
        let id = bypassMonitor.withLock { $0.listeners.add(continuation) }
        continuation.onTermination = { [weak self] _ in self?.bypassMonitor.withLock { $0.listeners.remove(id) } }
        return stream
    }

    // MARK: Periodic work

    /// Retries storing for loaders that the store refused, enforces the limits, and reports bytes passing through.
    package func maintain(now: ContinuousClock.Instant) async {
        let loaders = loaders.all
        for loader in loaders where loader.look({ $0.permissions.refusalToRetry(now: now) }) != nil {
            await loader.storeAgain()
        }
        let (isSizeDue, isAgeDue) = pace.withLock { ($0.isSizeDue(now), $0.isAgeDue(now)) }
        let (store, lastRefusal) = (store, bypassMonitor.withLock { $0.refusal })
        let (finding, isSteady) = lookAtClock(now)
        let hasSpace = try? await pool.run {
            let limits = store.quota.limits
            if case .set(let first, let last, let time) = finding {
                try? store.resources.correctAccessTimes(from: first, through: last, to: time)
            }
            if isAgeDue, isSteady, limits.age != nil { _ = try? store.quota.prune(StorageLimits(maxAge: limits.age)) }
            if isSizeDue, store.quota.exceedsLimits { _ = try? store.quota.prune(limits) }
            if isAgeDue { Recovery(store).finishPendingWork() }
            return try lastRefusal.map { try store.quota.hasSpace(after: $0) } ?? true
        }
        let passing = loaders.contains { $0.look { $0.isPassingThrough } }
        let refusal = loaders.lazy.compactMap { $0.look { $0.permissions.storeFailure } }.first
        let (event, listeners) = bypassMonitor.withLock { bypassMonitor in
            let event = bypassMonitor.look(
                passed: store.work.passedThrough.total, isPassing: passing, refusal: refusal,
                hasSpace: hasSpace ?? false, sealed: store.work.sealed.total, now: now)
            return (event, bypassMonitor.listeners.all)
        }
        if let event { for listener in listeners { listener.yield(event) } }
        reportEvictions(now: now)
    }

    private func lookAtClock(_ now: ContinuousClock.Instant) -> (WallClockMonitor.Finding, isSteady: Bool) {
        let wall = store.index.now()
        return clock.withLock { ($0.look(wall: wall, uptime: now), $0.isSteady(at: now)) }
    }

    private func reportEvictions(now: ContinuousClock.Instant) {
        tell(evictionNotice.withLock { $0.look(store.quota.evictions, now: now) })
    }

    /// Reports the evictions that have not been reported yet, and ends the event streams.
    package func end() {
        tell(takeEvictions())
        for listener in bypassMonitor.withLock({ $0.listeners.all }) { listener.finish() }
    }

    /// The message of the store's refusal while bytes pass through unstored; nil while the store accepts bytes.
    package var failure: String? { bypassMonitor.withLock { $0.refusal?.message } }

    /// Returns the evictions that have not been reported yet, without sending them to the listeners.
    package func takeEvictions() -> StoreEvent? { evictionNotice.withLock { $0.end(store.quota.evictions) } }

    private func tell(_ event: StoreEvent?) {
        guard let event else { return }
        for listener in bypassMonitor.withLock({ $0.listeners.all }) { listener.yield(event) }
    }
}

/// The result of pruning: what was removed, or would be.
public struct PruneReport: Hashable, Codable, Sendable {
    /// The number of titles that were removed completely, with their metadata.
    public let resources: Int
    /// The number of segment files that were removed.
    public let segments: Int
    /// The size of the removed files, in bytes.
    public let bytes: Int64
    /// The size of the remaining segment files, in bytes.
    public let used: Int64
}

/// Decides when limits are checked, because checking for every byte or every second would be too often.
struct QuotaPace {
    private var lastSize: ContinuousClock.Instant?
    private var lastAge: ContinuousClock.Instant?

    /// Returns whether a check for an oversized vault is due.
    mutating func isSizeDue(_ now: ContinuousClock.Instant) -> Bool { Self.isDue(&lastSize, .seconds(5), now) }

    /// Returns whether a check for titles that are too old is due.
    mutating func isAgeDue(_ now: ContinuousClock.Instant) -> Bool { Self.isDue(&lastAge, .seconds(60), now) }

    private static func isDue(
        _ last: inout ContinuousClock.Instant?, _ interval: Duration, _ now: ContinuousClock.Instant
    ) -> Bool {
        if let last, now - last < interval { return false }
        last = now
        return true
    }
}

/// Compares the wall clock with a monotonic clock, so that nothing is evicted for its age while the time is in doubt.
///
/// A clock change is noticed at the next check. Ages are trusted again once the clock has run evenly for ``settling``,
/// which also applies after the vault is opened. A clock that is years ahead for a minute therefore has no effect.
struct WallClockMonitor {
    /// The result of a check.
    enum Finding: Hashable {
        /// The clock has run evenly since the last check.
        case even
        /// The clock was set: whenever it showed a time from `first` to `last`, the true time was about `now`.
        case set(first: Int64, last: Int64, now: Int64)
    }

    /// The time of day at the last check, and the uptime at that check.
    private var last: (wall: Int64, uptime: ContinuousClock.Instant)?
    /// The time of day when the clock began to run evenly, and the uptime at that moment.
    private var begin: (wall: Int64, uptime: ContinuousClock.Instant)?

    /// How long the clock must run evenly before it is trusted.
    static let settling: Duration = .seconds(3600)
    /// The largest deviation between two checks, in seconds, that still counts as even. It is harmless, because ages
    /// are measured in hours.
    static let tolerance: UInt64 = 300

    /// Checks the wall clock against the uptime, and returns the finding.
    mutating func look(wall: Int64, uptime: ContinuousClock.Instant) -> Finding {
        defer { last = (wall, uptime) }
        guard let last, let begin else {
            begin = (wall, uptime)
            return .even
        }
        let (expected, isFar) = last.wall.addingReportingOverflow((uptime - last.uptime).components.seconds)
        let (difference, isFarther) = wall.subtractingReportingOverflow(expected)
        guard isFar || isFarther || difference.magnitude > Self.tolerance else { return .even }
        self.begin = (wall, uptime)
        return .set(first: begin.wall, last: expected, now: wall)
    }

    /// Returns whether ages computed from the wall clock are trusted.
    func isSteady(at uptime: ContinuousClock.Instant) -> Bool {
        begin.map { uptime - $0.uptime >= Self.settling } ?? false
    }
}

extension VaultStore {
    /// Returns the limits in force. If this process is not the owner, they are those in the settings. Blocks.
    package func limitsInForce() throws -> StorageLimits {
        isOwner ? quota.limits : quota.settled(try index.settings().limits)
    }
}
