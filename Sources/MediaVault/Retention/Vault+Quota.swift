import VaultModel
import VaultStorage

// The disk space of the vault.
extension Vault {
    /// Returns the limits in the vault's settings. ``VaultStatus/limits`` has the limits in force.
    public func limits() async throws -> StorageLimits {
        let store = store
        return try await pool.run { try store.index.settings().limits }
    }

    /// Writes limits to the vault's settings and enforces them from now on.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a limit is negative, or if the size could only be kept
    ///   by removing pinned titles or downloads; `owned` if this process is not the owner.
    public func setLimits(_ limits: StorageLimits) async throws {
        try await changeSettings(limits: { $0 = limits })
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
        store.quota.enforce(sessionLimits?.over(limits) ?? limits)
        var inForce = store.quota.limits
        inForce.maxAge = nil
        _ = try store.quota.prune(inForce)
    }

    /// Removes what exceeds limits, once.
    ///
    /// First what was merely played and has not been read for the maximum age; then, if the size is exceeded, what was
    /// merely played before downloads, and downloads only if the limits allow it. Pinned titles and titles in use are
    /// kept.
    ///
    /// - Parameters:
    ///   - limits: nil for the limits in force, as far as they can be kept.
    ///   - isDryRun: whether to report what would be removed without removing it.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `invalidArgument` if the size could
    ///   only be kept by removing pinned titles or downloads: then nothing is removed.
    public func prune(_ limits: StorageLimits? = nil, isDryRun: Bool = false) async throws -> PruneReport {
        try requireOwner(to: "prunes titles")
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
        guard sessionLimits?.size != nil else { return }
        let store = store
        try await pool.run { try store.quota.requireAttainable(store.quota.limits) }
    }

    /// Reports when bytes begin to pass through unstored, when all are stored again, and evictions; ends with the
    /// vault.
    public func storeEvents() -> AsyncStream<StoreEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
        let id = bypassMonitor.withLock { $0.listeners.add(continuation) }
        continuation.onTermination = { [weak self] _ in self?.bypassMonitor.withLock { $0.listeners.remove(id) } }
        return stream
    }

    /// Returns the limits in force.
    func limitsInForce() async throws -> StorageLimits {
        guard !store.isOwner else { return store.quota.limits }
        return try await limits()
    }

    /// Makes the store enforce the limits, and protect the resources in use.
    func enforceLimits() async {
        store.quota.setResourceUse(
            ResourceUse(
                all: { [weak loaders] in loaders?.resourcesInUse ?? [] },
                forget: { [weak loaders] in loaders?.removeIfIdle($0) ?? true }))
        let (store, ofRun) = (store, sessionLimits)
        // Invalid settings are reported when they are requested.
        let settings = try? await pool.run { try store.index.settings().limits }
        store.quota.enforce(ofRun?.over(settings ?? StorageLimits()) ?? settings ?? StorageLimits())
    }

    /// Keeps some space in reserve that can be freed when the disk is full.
    func createReserve() async {
        let store = store
        try? await pool.run { store.quota.keepReserve() }
    }

    // MARK: Periodic work

    /// Retries storing for loaders that were refused, enforces the limits, and reports bytes passing through.
    func maintainQuota(now: ContinuousClock.Instant) async {
        let loaders = loaders.all
        for loader in loaders where loader.look({ $0.refusalToRetry(now: now) }) != nil { await loader.storeAgain() }
        let (isSizeDue, isAgeDue) = quotaPace.withLock { ($0.isSizeDue(now), $0.isAgeDue(now)) }
        let (store, isDiskFull) = (store, bypassMonitor.withLock { $0.isDiskFull })
        let (finding, isSteady) = lookAtClock(now)
        let hasDiskSpace = try? await pool.run {
            let limits = store.quota.limits
            if case .set(let first, let last, let time) = finding {
                try? store.correctAccessTimes(from: first, through: last, to: time)
            }
            if isAgeDue, isSteady, limits.age != nil { _ = try? store.quota.prune(StorageLimits(maxAge: limits.age)) }
            if isSizeDue, store.quota.exceedsLimits { _ = try? store.quota.prune(limits) }
            if isAgeDue { store.finishPendingWork() }
            return !isDiskFull || store.quota.hasDiskSpace
        }
        let passing = loaders.contains { $0.look { $0.isPassingThrough } }
        let refusal = loaders.lazy.compactMap { $0.look { $0.storeFailure } }.first
        let (event, listeners) = bypassMonitor.withLock { bypassMonitor in
            let event = bypassMonitor.look(
                passed: store.work.passedThrough.total, isPassing: passing, refusal: refusal,
                hasDiskSpace: hasDiskSpace ?? false, now: now)
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

    /// Reports evictions that have not been reported yet.
    func reportLastEvictions() { tell(takeEvictions()) }

    /// Returns the evictions that have not been reported yet; listeners do not receive them.
    package func takeEvictions() -> StoreEvent? { evictionNotice.withLock { $0.end(store.quota.evictions) } }

    private func tell(_ event: StoreEvent?) {
        guard let event else { return }
        for listener in bypassMonitor.withLock({ $0.listeners.all }) { listener.yield(event) }
    }
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

extension ResourceLoader {
    /// Makes the store accept bytes again, if there is space by now.
    func storeAgain() async {
        let (refusal, information, freshness, isTaken) = look { state in
            (state.mode.stores ? state.refusal?.error : nil, state.information, state.freshness, state.canStore)
        }
        guard let refusal else { return }
        let (store, record, source) = (store, record, addresses.current)
        let isTakingAgain = try? await pool.run {
            guard store.quota.canStore(after: refusal, length: information?.length) else { return false }
            if !isTaken, let information { try record.takeIn(information, freshness, of: source) }
            return true
        }
        change { state in
            guard isTakingAgain == true else {
                state.extendRefusal()
                return Effects()
            }
            return state.storeAgain()
        }
    }

    /// Whether another process may evict what this one reads.
    var isBesideOwner: Bool { !store.isOwner }

    /// Reloads the index after the file of a segment was missing: its row may be gone as well. The segment is left out.
    func reloadIndex(without segment: SegmentDescription) async {
        let record = record
        let before = record.representation
        let serving = (try? await pool.run { try record.load() }) ?? nil
        change { $0.reload(serving?.id == before ? serving : nil, without: segment.id) }
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

    /// The time of day at the last check, and when that was.
    private var last: (wall: Int64, uptime: ContinuousClock.Instant)?
    /// The time of day when the clock began to run evenly, and when that was.
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

    /// Whether ages by the time of day are trusted.
    func isSteady(at uptime: ContinuousClock.Instant) -> Bool {
        begin.map { uptime - $0.uptime >= Self.settling } ?? false
    }
}
