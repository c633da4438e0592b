import VaultModel
import VaultStorage

/// Joins small segments of one resource, behind playback.
struct Joining {
    /// Whether it is at work: the resource is in use then.
    private(set) var isRunning = false
    /// Segments that could not be opened, for as long as the loader lives.
    var excluded: Set<SegmentID> = []
    /// When it was last tried: those have their turn first that were tried longest ago.
    private(set) var lastTry: ContinuousClock.Instant?
    /// Nothing was joined then.
    var wasInVain = false
    /// Who waits for the end.
    private(set) var waiting: [CheckedContinuation<Void, Never>] = []

    /// So many side by side are joined whatever goes on; fewer only once nobody has read and nothing was fetched for
    /// ``rest``, since more may come.
    static let crowd = 16
    static let rest: Duration = .seconds(10)
    /// What could not be joined is tried again after so long.
    static let patience: Duration = .seconds(30)

    func mayBegin(now: ContinuousClock.Instant) -> Bool {
        !isRunning && (!wasInVain || lastTry.map { now - $0 >= Self.patience } ?? true)
    }

    mutating func begin(now: ContinuousClock.Instant) { (isRunning, lastTry, wasInVain) = (true, now, true) }

    /// - Returns: who waits for the end.
    mutating func end() -> [CheckedContinuation<Void, Never>] {
        defer { (isRunning, waiting) = (false, []) }
        return waiting
    }

    /// - Returns: false where it is not at work: nothing is to be waited for.
    mutating func wait(_ waiter: CheckedContinuation<Void, Never>) -> Bool {
        if isRunning { waiting.append(waiter) }
        return isRunning
    }
}

extension ResourceLoader {
    /// Whether segments are to be joined now.
    ///
    /// - Parameter isResting: whether nobody has used it for ``Joining/rest``.
    func isCrowded(isResting: Bool) -> Bool {
        let (pieces, isWhole) = look { ($0.map.pieces, $0.isWhole) }
        let crowd = SegmentJoin.next(of: pieces.map(\.range), isWhole: isWhole)?.count ?? 0
        return crowd >= Joining.crowd || (crowd > 1 && isResting)
    }

    /// Joins the most segments that lie side by side and fit one, after ``Joining/begin(now:)``.
    ///
    /// - Returns: how many bytes were opened and sealed again.
    @discardableResult
    func joinNeighbours() async -> Int64 {
        let bytes = await joinBegun()
        endJoining(wasInVain: bytes == 0)
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
            try? await pool.run { store.removeReplaced(segments, by: [new]) }
            return new.length
        } catch is SegmentFailure {
            // What does not open a reader finds, or verify.
            exclude(segments)
            return 0
        } catch {
            return 0
        }
    }

    /// Returns once nothing is being joined.
    func settleJoining() async {
        await withCheckedContinuation { waiter in
            let isWaiting = joining.withLock { $0.wait(waiter) }
            if !isWaiting { waiter.resume() }
        }
    }

    @inline(never)
    private func endJoining(wasInVain: Bool) {
        let waiting = joining.withLock { joining in
            joining.wasInVain = wasInVain
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

    /// Whether segments are known as the index has them, and no fetch has yet to say what it made of them.
    func hasWritten(_ segments: [SegmentDescription]) -> Bool {
        segments.allSatisfy { segment in
            map.length(of: segment.id) == segment.length
                && !fetches.values.contains { ($0.start..<max($0.start, $0.present)).overlaps(segment.range) }
        }
    }
}

/// When a vault joins segments: one title at a time, and not while players take bytes at full speed.
struct JoiningPace {
    /// Whether segments are being joined.
    var isRunning = false
    /// Bytes that joining opened since it was last asked; while it is at work nothing is counted.
    var own: Int64 = 0
    private var opened: Int64?

    /// Who opens so many bytes in a second has the disk for itself.
    static let fullSpeed: Int64 = 16 << 20

    /// Whether players have opened so many bytes since it was last asked, a second ago, that nothing is done beside them.
    ///
    /// - Parameter total: the bytes that were ever opened.
    mutating func isBusy(opened total: Int64) -> Bool {
        guard !isRunning else { return true }
        let read = total - (opened ?? total) - own
        (opened, own) = (total, 0)
        return read >= Self.fullSpeed
    }
}

extension Vault {
    /// Joins some segments of one title, where there are small ones side by side and players leave time for it.
    func joinSegments(now: ContinuousClock.Instant) {
        let opened = store.work.opened.total
        guard store.isOwner, !joiningPace.withLock({ $0.isBusy(opened: opened) }),
            keyWork.act == nil, !precedence.isPlayerWaiting
        else { return }
        let known = loaders.withLock { loaders in
            loaders.map { (id: $0, loader: $1.loader, isResting: !$1.isInUse && now - $1.idleSince >= Joining.rest) }
        }
        let ready = known.compactMap { title in
            let (mayBegin, lastTry) = title.loader.joining.withLock { ($0.mayBegin(now: now), $0.lastTry) }
            return mayBegin && !title.loader.isBroken ? (title, lastTry) : nil
        }.sorted { one, other in other.1.map { last in one.1.map { $0 < last } ?? true } ?? false }
        guard let (title, _) = ready.first(where: { $0.0.loader.isCrowded(isResting: $0.0.isResting) }),
            begin(title.id, title.loader, now: now)
        else { return }
        _ = chores.begin { [self] in
            endJoining(opened: await title.loader.joinNeighbours())
        }
    }

    @inline(never)
    private func endJoining(opened bytes: Int64) {
        joiningPace.withLock { ($0.isRunning, $0.own) = (false, bytes) }
    }

    /// - Returns: false where the title is being removed, or has another loader by now.
    private func begin(_ id: ResourceID, _ loader: ResourceLoader, now: ContinuousClock.Instant) -> Bool {
        loaders.withLock { loaders in
            guard let entry = loaders[id], entry.loader === loader, !entry.isRemoving else { return false }
            loader.joining.withLock { $0.begin(now: now) }
            joiningPace.withLock { $0.isRunning = true }
            return true
        }
    }
}
