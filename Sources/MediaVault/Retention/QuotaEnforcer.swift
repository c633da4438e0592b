import VaultModel
import VaultStorage

/// Keeps a vault within its limits, and reports what that costs: bytes that pass through unstored, and evictions.
final class QuotaEnforcer: Sendable {
    private let loaders: LoaderTable
    /// The limits of the run, which override those of the settings.
    let limitsOfRun: StorageLimits?
    /// Detects bytes that pass through unstored, and keeps the listeners.
    private let bypassMonitor = Locked(BypassMonitor())
    private let pace = Locked(QuotaPace())
    /// Decides whether the time of day is trusted.
    private let clock = Locked(WallClockMonitor())
    private let evictionNotice = Locked(EvictionNotice())

    init(loaders: LoaderTable, limitsOfRun: StorageLimits?) {
        self.loaders = loaders
        self.limitsOfRun = limitsOfRun
    }

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    // MARK: Limits

    /// Returns the limits in the settings.
    func settings() async throws -> StorageLimits {
        let store = store
        return try await pool.run { try store.index.settings().limits }
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` if a limit is negative.
    static func check(_ limits: StorageLimits) throws {
        let all = [limits.maxSize ?? 0, limits.maxAge ?? 0, limits.minFree ?? 0]
        guard all.allSatisfy({ (0...ContentInformation.maxBytes).contains($0) }) else {
            throw VaultError(.invalidArgument, "a limit must be 0 (no limit) or a positive number")
        }
    }

    /// Enforces limits that have been written to the settings. The age limit is enforced later, once the wall clock is
    /// trusted. Blocks.
    func keep(to limits: StorageLimits) throws {
        store.quota.enforce(limitsOfRun?.over(limits) ?? limits)
        var inForce = store.quota.limits
        inForce.maxAge = nil
        _ = try store.quota.prune(inForce)
    }

    /// Removes what exceeds limits, once; see ``Vault/prune(_:isDryRun:)``.
    func prune(_ limits: StorageLimits?, isDryRun: Bool) async throws -> PruneReport {
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

    /// Rejects a size limit of this run that could only be kept by removing what no limit may remove.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func requireReachableLimits() async throws {
        guard limitsOfRun?.size != nil else { return }
        let store = store
        try await pool.run { try store.quota.requireAttainable(store.quota.limits) }
    }

    /// Returns the limits in force.
    func limitsInForce() async throws -> StorageLimits {
        let store = store
        return try await pool.run { try store.limitsInForce() }
    }

    /// Makes the store enforce the limits, and protect the resources in use.
    func enforceLimits() async {
        store.quota.setResourceUse(
            ResourceUse(
                all: { [weak loaders] in loaders?.resourcesInUse ?? [] },
                forget: { [weak loaders] in loaders?.removeIfIdle($0) ?? true }))
        let (store, ofRun) = (store, limitsOfRun)
        // Requesting the settings reports invalid ones.
        let settings = try? await pool.run { try store.index.settings().limits }
        store.quota.enforce(ofRun?.over(settings ?? StorageLimits()) ?? settings ?? StorageLimits())
    }

    /// Keeps some space in reserve that can be freed when the disk is full.
    func createReserve() async {
        let store = store
        try? await pool.run { store.quota.keepReserve() }
    }

    // MARK: Events

    /// Reports when bytes begin to pass through unstored, when all are stored again, and evictions.
    func events() -> AsyncStream<StoreEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
        let id = bypassMonitor.withLock { $0.listeners.add(continuation) }
        continuation.onTermination = { [weak self] _ in self?.bypassMonitor.withLock { $0.listeners.remove(id) } }
        return stream
    }

    // MARK: Periodic work

    /// Retries storing for loaders that were refused, enforces the limits, and reports bytes passing through.
    func maintain(now: ContinuousClock.Instant) async {
        let loaders = loaders.all
        for loader in loaders where loader.look({ $0.refusalToRetry(now: now) }) != nil { await loader.storeAgain() }
        let (isSizeDue, isAgeDue) = pace.withLock { ($0.isSizeDue(now), $0.isAgeDue(now)) }
        let (store, lastRefusal) = (store, bypassMonitor.withLock { $0.refusal })
        let (finding, isSteady) = lookAtClock(now)
        let hasSpace = try? await pool.run {
            let limits = store.quota.limits
            if case .set(let first, let last, let time) = finding {
                try? store.correctAccessTimes(from: first, through: last, to: time)
            }
            if isAgeDue, isSteady, limits.age != nil { _ = try? store.quota.prune(StorageLimits(maxAge: limits.age)) }
            if isSizeDue, store.quota.exceedsLimits { _ = try? store.quota.prune(limits) }
            if isAgeDue { store.finishPendingWork() }
            return try lastRefusal.map { try store.quota.hasSpace(after: $0) } ?? true
        }
        let passing = loaders.contains { $0.look { $0.isPassingThrough } }
        let refusal = loaders.lazy.compactMap { $0.look { $0.storeFailure } }.first
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
        let wall = store.now()
        return clock.withLock { ($0.look(wall: wall, uptime: now), $0.isSteady(at: now)) }
    }

    private func reportEvictions(now: ContinuousClock.Instant) {
        tell(evictionNotice.withLock { $0.look(store.quota.evictions, now: now) })
    }

    /// Reports evictions that have not been reported yet, and ends the events.
    func end() {
        tell(takeEvictions())
        for listener in bypassMonitor.withLock({ $0.listeners.all }) { listener.finish() }
    }

    /// The message of the store's refusal while bytes pass through unstored; nil while the store accepts bytes.
    var failure: String? { bypassMonitor.withLock { $0.refusal?.message } }

    /// Returns the evictions that have not been reported yet; listeners do not receive them.
    func takeEvictions() -> StoreEvent? { evictionNotice.withLock { $0.end(store.quota.evictions) } }

    private func tell(_ event: StoreEvent?) {
        guard let event else { return }
        for listener in bypassMonitor.withLock({ $0.listeners.all }) { listener.yield(event) }
    }
}

/// What pruning removed, or would remove.
public struct PruneReport: Hashable, Codable, Sendable {
    /// Titles removed completely, with their metadata.
    public let resources: Int
    /// Segment files removed.
    public let segments: Int
    /// The size of those files in bytes.
    public let bytes: Int64
    /// The size of the remaining segment files in bytes.
    public let used: Int64
}

/// How often limits are checked: not for every byte, and not every second.
struct QuotaPace {
    private var lastSize: ContinuousClock.Instant?
    private var lastAge: ContinuousClock.Instant?

    /// Returns whether to check now whether the vault has become too large.
    mutating func isSizeDue(_ now: ContinuousClock.Instant) -> Bool { Self.isDue(&lastSize, .seconds(5), now) }

    /// Returns whether to check now whether something has become too old.
    mutating func isAgeDue(_ now: ContinuousClock.Instant) -> Bool { Self.isDue(&lastAge, .seconds(60), now) }

    private static func isDue(
        _ last: inout ContinuousClock.Instant?, _ interval: Duration, _ now: ContinuousClock.Instant
    ) -> Bool {
        if let last, now - last < interval { return false }
        last = now
        return true
    }
}

/// Compares the wall clock with a monotonic one: nothing is evicted for its age while the time of day is in doubt.
///
/// A clock change is noticed at the next check. Ages are trusted again once the clock has run evenly for ``settling``;
/// the same applies when the vault is opened. So a clock that is years ahead for a minute has no effect.
struct WallClockMonitor {
    /// The result of a check.
    enum Finding: Hashable {
        /// The clock runs evenly.
        case even
        /// The clock was set: the times that it showed from `first` to `last` were really `now`.
        case set(first: Int64, last: Int64, now: Int64)
    }

    /// The time of day at the last check, and the uptime then.
    private var last: (wall: Int64, uptime: ContinuousClock.Instant)?
    /// The time of day when the clock began to run evenly, and the uptime then.
    private var begin: (wall: Int64, uptime: ContinuousClock.Instant)?

    /// How long the clock must run evenly before it is trusted.
    static let settling: Duration = .seconds(3600)
    /// The largest deviation between two checks in seconds that counts as even: ages are hours, so less is harmless.
    static let tolerance: UInt64 = 300

    /// Checks the time of day.
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

    /// Returns whether ages by the time of day are trusted.
    func isSteady(at uptime: ContinuousClock.Instant) -> Bool {
        begin.map { uptime - $0.uptime >= Self.settling } ?? false
    }
}

extension VaultStore {
    /// Returns the limits in force; for a process that is not the owner, those of the settings. Blocks.
    func limitsInForce() throws -> StorageLimits {
        isOwner ? quota.limits : quota.settled(try index.settings().limits)
    }
}
