import VaultModel
import VaultStorage

/// The state of the background work that joins one resource's small segments.
struct Joining {
    /// Whether segments are being joined, which keeps the resource in use.
    private(set) var isRunning = false
    /// Segments that could not be opened, and are not tried again while the loader exists.
    var excluded: Set<SegmentID> = []
    /// When joining was last tried; nil if never. The loader whose last try was longest ago goes first.
    private(set) var lastTry: ContinuousClock.Instant?
    /// Whether the last attempt joined nothing.
    var joinedNothing = false
    /// The tasks that are waiting for joining to end.
    private(set) var waiting: [CheckedContinuation<Void, Never>] = []

    /// The number of adjacent segments that are joined even while the resource is in use. Fewer are joined only after
    /// ``rest`` without readers and fetches, because more may follow.
    static let crowd = 16
    static let rest: Duration = .seconds(10)
    /// How long to wait after an attempt that joined nothing.
    static let patience: Duration = .seconds(30)

    func mayBegin(now: ContinuousClock.Instant) -> Bool {
        !isRunning && (!joinedNothing || lastTry.map { now - $0 >= Self.patience } ?? true)
    }

    mutating func begin(now: ContinuousClock.Instant) { (isRunning, lastTry, joinedNothing) = (true, now, true) }

    /// Records that joining has ended.
    ///
    /// - Returns: the tasks that were waiting for this.
    mutating func end() -> [CheckedContinuation<Void, Never>] {
        defer { (isRunning, waiting) = (false, []) }
        return waiting
    }

    /// Registers a task to resume when joining ends.
    ///
    /// - Returns: false if nothing is being joined, so there is nothing to wait for.
    mutating func wait(_ waiter: CheckedContinuation<Void, Never>) -> Bool {
        if isRunning { waiting.append(waiter) }
        return isRunning
    }
}

extension ResourceLoader {
    /// Returns whether segments should be joined now.
    ///
    /// - Parameter isResting: whether the resource has been idle for ``Joining/rest``.
    func needsJoining(isResting: Bool) -> Bool {
        // A pack's segments are joined through the pack's own loader.
        guard record.place == nil else { return false }
        let (pieces, isWhole) = look { ($0.map.pieces, $0.isWhole) }
        let crowd = SegmentJoin.next(of: pieces.map(\.range), isWhole: isWhole)?.count ?? 0
        return crowd >= Joining.crowd || (crowd > 1 && isResting)
    }

    /// Joins the longest run of adjacent segments that fit into one. The caller must have called
    /// ``Joining/begin(now:)``.
    ///
    /// - Returns: the number of bytes opened and sealed again.
    @discardableResult
    func joinAdjacentSegments() async -> Int64 {
        let bytes = await joinBegun()
        endJoining(joinedNothing: bytes == 0)
        return bytes
    }

    private func joinBegun() async -> Int64 {
        let (record, store, excluded) = (record, store, excluded)
        let isWhole = look { $0.isWhole }
        guard let segments = try? await pool.run({ try record.neighbours(excluding: excluded, isWhole: isWhole) }),
            look({ $0.hasWritten(segments) })
        else { return 0 }
        do {
            guard let new = try await pool.run({ try record.join(segments) }) else { return 0 }
            exchange(segments, for: [new])
            try? await pool.run { SegmentReseal(store).removeReplaced(segments, by: [new]) }
            return new.length
        } catch is SegmentFailure {
            // A segment that does not open will be reported by a reader or by verification.
            exclude(segments)
            return 0
        } catch {
            return 0
        }
    }

    /// Waits until no segments are being joined.
    func settleJoining() async {
        await withCheckedContinuation { waiter in
            let isWaiting = joining.withLock { $0.wait(waiter) }
            if !isWaiting { waiter.resume() }
        }
    }

    @inline(never)
    private func endJoining(joinedNothing: Bool) {
        let waiting = joining.withLock { joining in
            joining.joinedNothing = joinedNothing
            return joining.end()
        }
        for waiter in waiting { waiter.resume() }
    }

    private var excluded: Set<SegmentID> { joining.withLock(\.excluded) }

    @inline(never)
    private func exclude(_ segments: [SegmentDescription]) {
        joining.withLock { $0.excluded.formUnion(segments.map(\.id)) }
    }
}

extension LoaderState {
    /// Whether every byte is held.
    var isWhole: Bool { information?.length.map { $0 > 0 && map.holds(0..<$0) } ?? false }

    /// Returns whether the index and the loader agree on these segments, and no running fetch overlaps them.
    func hasWritten(_ segments: [SegmentDescription]) -> Bool {
        segments.allSatisfy { segment in
            map.length(of: segment.id) == segment.length
                && !fetches.values.contains { ($0.start..<max($0.start, $0.present)).overlaps(segment.range) }
        }
    }
}

/// Decides when a vault joins segments: one title at a time, and not while players read at full speed.
struct JoiningPace {
    /// Whether segments are being joined.
    var isRunning = false
    /// The number of bytes that joining has opened since the last check. Nothing is counted while segments are being
    /// joined.
    var own: Int64 = 0
    private var opened: Int64?

    /// The rate, in bytes per second, at which players are considered to need the whole disk.
    static let fullSpeedRate: Int64 = 16 << 20

    /// Returns whether players have read at full speed since the last check, a second ago, or segments are being
    /// joined.
    ///
    /// - Parameter total: the number of bytes opened since the vault was opened.
    mutating func isBusy(opened total: Int64) -> Bool {
        guard !isRunning else { return true }
        let read = total - (opened ?? total) - own
        (opened, own) = (total, 0)
        return read >= Self.fullSpeedRate
    }
}

/// Joins small segments of a vault's titles in the background.
final class SegmentJoiner: Sendable {
    private let loaders: LoaderTable
    private let tasks: BackgroundTasks
    private let pace = Locked(JoiningPace())

    init(loaders: LoaderTable, tasks: BackgroundTasks) {
        self.loaders = loaders
        self.tasks = tasks
    }

    /// Whether segments are being joined now.
    var isRunning: Bool { pace.withLock(\.isRunning) }

    /// Joins some segments of one title, if there is a title with small adjacent ones and playback leaves time for it.
    ///
    /// - Parameter mayBegin: whether joining may begin, which requires that no key operation or other work is resealing
    ///   segments.
    func join(now: ContinuousClock.Instant, mayBegin: Bool = true) {
        let environment = loaders.environment
        let opened = environment.store.work.opened.total
        guard environment.store.isOwner, !pace.withLock({ $0.isBusy(opened: opened) }), mayBegin,
            !environment.playbackPriority.isPlayerWaiting
        else { return }
        let ready = loaders.resting(for: Joining.rest, now: now).compactMap { title in
            let (mayBegin, lastTry) = title.1.joining.withLock { ($0.mayBegin(now: now), $0.lastTry) }
            return mayBegin && !title.1.isBroken ? (title, lastTry) : nil
        }.sorted { one, other in other.1.map { last in one.1.map { $0 < last } ?? true } ?? false }
        guard let (title, _) = ready.first(where: { $0.0.1.needsJoining(isResting: $0.0.isResting) }),
            loaders.beginJoining(title.0, title.1, now: now)
        else { return }
        pace.withLock { $0.isRunning = true }
        _ = tasks.begin { [self] in end(opened: await title.1.joinAdjacentSegments()) }
    }

    @inline(never)
    private func end(opened bytes: Int64) { pace.withLock { ($0.isRunning, $0.own) = (false, bytes) } }
}
