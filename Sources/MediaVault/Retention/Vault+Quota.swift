import VaultModel
import VaultStorage

// How much room the vault takes.
extension Vault {
    /// The limits that the vault's settings name. ``VaultStatus/limits`` says which are in force.
    public func limits() async throws -> StorageLimits {
        let store = store
        return try await pool.run { try store.index.settings().limits }
    }

    /// Writes limits into the vault's settings, and keeps to them from now on.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where a limit is below 0, or where the size could be kept to only
    ///   with what is pinned or was fetched by name; `owned` where this is not the owner.
    public func setLimits(_ limits: StorageLimits) async throws {
        try await changeSettings(limits: { $0 = limits })
    }

    /// - Throws: ``VaultError`` with code `invalidArgument` where a limit is below 0.
    static func check(_ limits: StorageLimits) throws {
        let all = [limits.maxSize ?? 0, limits.maxAge ?? 0, limits.minFree ?? 0]
        guard all.allSatisfy({ (0...ContentInformation.mostBytes).contains($0) }) else {
            throw VaultError(.invalidArgument, "a limit is 0, which is none, or a number above it")
        }
    }

    /// Keeps to limits that the settings have by now. What goes for its age goes later, when the time of day is believed.
    /// Blocks.
    func keep(to limits: StorageLimits) throws {
        store.enforce(limitsOfRun?.over(limits) ?? limits)
        var inForce = store.room.limits
        inForce.maxAge = nil
        _ = try store.prune(inForce)
    }

    /// Lets go of what lies beyond limits, once: what was merely played and not read for so long, then what is too much,
    /// what was merely played first, and what was fetched by name only where the limits allow it. What is pinned, and what
    /// is in use, stays.
    ///
    /// - Parameters:
    ///   - limits: nil means those in force, as far as they can be kept to.
    ///   - isRehearsal: whether it only tells what would go.
    /// - Throws: ``VaultError`` with code `owned` where this is not the owner; `invalidArgument` where the size could be kept
    ///   to only with what is pinned or was fetched by name: then nothing went.
    public func prune(_ limits: StorageLimits? = nil, isRehearsal: Bool = false) async throws -> PruneReport {
        try requireOwner(to: "lets go of what it holds")
        let (store, inForce) = (store, try await limitsInForce())
        return try await pool.run {
            var limits = limits
            if limits?.evictsDownloads == nil { limits?.evictsDownloads = inForce.evictsDownloads }
            if let limits { try store.requireReachable(limits) }
            let wanted = limits ?? inForce
            let gone = isRehearsal ? try store.pruneRehearsal(wanted) : try store.prune(wanted)
            return PruneReport(
                resources: gone.resources, segments: gone.segments, bytes: gone.bytes,
                used: store.room.used - (isRehearsal ? gone.bytes : 0))
        }
    }

    /// Refuses a size of this run that could be kept to only with what no limit takes away.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func requireReachableLimits() async throws {
        guard limitsOfRun?.size != nil else { return }
        let store = store
        try await pool.run { try store.requireReachable(store.room.limits) }
    }

    /// Tells when bytes begin to pass through unstored, and when all are stored again; ends with the vault.
    public func storeEvents() -> AsyncStream<StoreEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
        let id = passage.withLock { $0.add(continuation) }
        continuation.onTermination = { [weak self] _ in self?.passage.withLock { $0.remove(id) } }
        return stream
    }

    /// The limits that count now.
    func limitsInForce() async throws -> StorageLimits {
        guard !store.isOwner else { return store.room.limits }
        return try await limits()
    }

    /// Has the store keep to the limits, and from what is in use.
    func guardRoom() async {
        store.respect(
            ResourceUse(
                all: { [weak self] in self?.resourcesInUse ?? [] },
                letGo: { [weak self] in self?.letGo($0) ?? true }))
        let (store, ofRun) = (store, limitsOfRun)
        // Damaged settings are told to those who ask for them.
        let settings = try? await pool.run { try store.index.settings().limits }
        store.enforce(ofRun?.over(settings ?? StorageLimits()) ?? settings ?? StorageLimits())
    }

    /// Sees to it that there is some room to give up when the disk is full.
    func keepReserve() async {
        let store = store
        try? await pool.run { store.keepReserve() }
    }

    private var resourcesInUse: Set<ResourceID> {
        loaders.withLock { loaders in Set(loaders.filter(\.value.isInUse).keys) }
    }

    /// Takes an idle loader out of the table: who comes next reads the index.
    private func letGo(_ id: ResourceID) -> Bool {
        loaders.withLock { loaders in
            guard let entry = loaders[id] else { return true }
            guard !entry.isInUse else { return false }
            loaders[id] = nil
            return true
        }
    }

    // MARK: Upkeep

    /// Asks the store again for those it refused, looks after the limits, and tells what passes through.
    func keepRoom(now: ContinuousClock.Instant) async {
        let loaders = loaders.withLock { $0.values.map(\.loader) }
        for loader in loaders where loader.look({ $0.refusalToRetry(now: now) }) != nil { await loader.storeAgain() }
        let (isSizeDue, isAgeDue) = roomPace.withLock { ($0.isSizeDue(now), $0.isAgeDue(now)) }
        let (store, isDiskFull) = (store, passage.withLock { $0.isDiskFull })
        let (finding, isSteady) = lookAtClock(now)
        let hasDiskRoom = try? await pool.run {
            let limits = store.room.limits
            if case .set(let first, let last, let time) = finding {
                try? store.correctAccesses(from: first, through: last, to: time)
            }
            if isAgeDue, isSteady, limits.age != nil { _ = try? store.prune(StorageLimits(maxAge: limits.age)) }
            if isSizeDue, store.isOverfull { _ = try? store.prune(limits) }
            if isAgeDue { store.payDebts() }
            return !isDiskFull || store.hasDiskRoom
        }
        let passing = loaders.contains { $0.look { $0.isPassingThrough } }
        let refusal = loaders.lazy.compactMap { $0.look { $0.storeFailure } }.first
        let (event, listeners) = passage.withLock { passage in
            let event = passage.look(
                passed: store.tally.passedThrough, isPassing: passing, refusal: refusal,
                hasDiskRoom: hasDiskRoom ?? false, now: now)
            return (event, passage.told)
        }
        if let event { for listener in listeners { listener.yield(event) } }
        tellEvictions(now: now)
    }

    private func lookAtClock(_ now: ContinuousClock.Instant) -> (SteadyClock.Finding, isSteady: Bool) {
        let wall = store.now()
        return clock.withLock { ($0.look(wall: wall, uptime: now), $0.isSteady(at: now)) }
    }

    private func tellEvictions(now: ContinuousClock.Instant) {
        tell(evictionNotice.withLock { $0.look(store.evictions, now: now) })
    }

    /// Tells what was evicted and not told yet.
    func tellLastEvictions() { tell(takeEvictions()) }

    /// What was evicted and not told yet; nobody else is told.
    package func takeEvictions() -> StoreEvent? { evictionNotice.withLock { $0.end(store.evictions) } }

    private func tell(_ event: StoreEvent?) {
        guard let event else { return }
        for listener in passage.withLock({ $0.told }) { listener.yield(event) }
    }
}

/// How often limits are looked after: not for each byte, and not each second.
struct QuotaPace {
    private var lastSize: ContinuousClock.Instant?
    private var lastAge: ContinuousClock.Instant?

    /// Whether it is time to see if the vault has become too large.
    mutating func isSizeDue(_ now: ContinuousClock.Instant) -> Bool { Self.isDue(&lastSize, .seconds(5), now) }

    /// Whether it is time to see if something has become too old.
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
    /// Has the store take bytes again, where there is room by now.
    func storeAgain() async {
        let (refusal, information, freshness, isTaken) = look { state in
            (state.mode.stores ? state.refusal?.error : nil, state.information, state.freshness, state.canStore)
        }
        guard let refusal else { return }
        let (store, record, source) = (store, record, addresses.current)
        let isTakingAgain = try? await pool.run {
            guard store.hasRoom(after: refusal, length: information?.length) else { return false }
            if !isTaken, let information { try record.takeIn(information, freshness, of: source) }
            return true
        }
        change { state in
            guard isTakingAgain == true else {
                state.refuseOn()
                return Effects()
            }
            return state.storeAgain()
        }
    }

    /// Whether another process may evict what this one reads.
    var isBesideOwner: Bool { !store.isOwner }

    /// A segment's file was gone: its row may be, too. What the index says now counts, without that segment.
    func lookAgain(without segment: SegmentDescription) async {
        let record = record
        let before = record.representation
        let serving = (try? await pool.run { try record.load() }) ?? nil
        change { $0.reload(serving?.id == before ? serving : nil, without: segment.id) }
    }
}

/// Watches the wall clock beside one that is never set: nothing goes for its age while the time of day is in doubt.
///
/// A clock that is set is noticed when it is looked at next. From then on it has to go evenly for ``settling`` before ages
/// by it are believed, and so it has to when the watch begins: a minute in which it is years ahead costs nothing.
struct SteadyClock {
    /// What a look found.
    enum Finding: Hashable {
        /// The clock goes as it did.
        case even
        /// It was set: what it told from the first to the last of these times was this time in truth.
        case set(first: Int64, last: Int64, now: Int64)
    }

    /// The time of day at the last look, and when that was.
    private var last: (wall: Int64, uptime: ContinuousClock.Instant)?
    /// The time of day when it began to go evenly, and when that was.
    private var begin: (wall: Int64, uptime: ContinuousClock.Instant)?

    /// How long a clock has to go evenly.
    static let settling: Duration = .seconds(3600)
    /// How much further one may have gone between two looks: what is set by less ages nothing, for ages are hours.
    static let tolerance: UInt64 = 300

    /// Looks at the time of day.
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

    /// Whether ages by the time of day are believed.
    func isSteady(at uptime: ContinuousClock.Instant) -> Bool {
        begin.map { uptime - $0.uptime >= Self.settling } ?? false
    }
}
