import VaultModel
import VaultStorage

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
package final class SegmentJoiner: Sendable {
    private let loaders: LoaderTable
    private let tasks: BackgroundTasks
    private let pace = Locked(JoiningPace())

    package init(loaders: LoaderTable, tasks: BackgroundTasks) {
        self.loaders = loaders
        self.tasks = tasks
    }

    /// Whether segments are being joined now.
    var isRunning: Bool { pace.withLock(\.isRunning) }

    /// Joins some segments of one title, if there is a title with small adjacent ones and playback leaves time for it.
    ///
    /// - Parameter mayBegin: whether joining may begin, which requires that no key operation or other work is resealing
    ///   segments.
    package func join(now: ContinuousClock.Instant, mayBegin: Bool = true) {
        let environment = loaders.environment
        let opened = environment.store.work.opened.total
        guard environment.store.isOwner, !pace.withLock({ $0.isBusy(opened: opened) }), mayBegin,
            !environment.playbackPriority.isPlayerWaiting
        else { return }
        let ready = loaders.resting(for: Joining.rest, now: now).compactMap { title in
            let (mayBegin, lastTry) = title.1.joining.withLock { ($0.mayBegin(now: now), $0.lastTry) }
            return mayBegin && !title.1.isBroken ? (title, lastTry) : nil
        }.sorted { one, other in other.1.map { last in one.1.map { $0 < last } ?? true } ?? false }
        guard let (title, _) = ready.first(where: { Self.needsJoining($0.0.1, isResting: $0.0.isResting) }),
            loaders.beginJoining(title.0, title.1, now: now)
        else { return }
        pace.withLock { $0.isRunning = true }
        _ = tasks.begin { [self] in end(opened: await Self.joinAdjacentSegments(of: title.1)) }
    }

    @inline(never)
    private func end(opened bytes: Int64) { pace.withLock { ($0.isRunning, $0.own) = (false, bytes) } }

    // MARK: One title

    /// Returns whether a title's segments should be joined now.
    ///
    /// - Parameter isResting: whether the resource has been idle for ``Joining/rest``.
    static func needsJoining(_ loader: ResourceLoader, isResting: Bool) -> Bool {
        // A pack's segments are joined through the pack's own loader.
        guard loader.record.place == nil else { return false }
        let (pieces, isWhole) = loader.look { ($0.known.map.pieces, $0.known.isWhole) }
        let crowd = SegmentJoin.next(of: pieces.map(\.range), isWhole: isWhole)?.count ?? 0
        return crowd >= Joining.crowd || (crowd > 1 && isResting)
    }

    /// Joins the longest run of adjacent segments that fit into one. The caller must have called
    /// ``Joining/begin(now:)``.
    ///
    /// - Returns: the number of bytes opened and sealed again.
    @discardableResult
    static func joinAdjacentSegments(of loader: ResourceLoader) async -> Int64 {
        let bytes = await join(loader)
        end(loader, joinedNothing: bytes == 0)
        return bytes
    }

    private static func join(_ loader: ResourceLoader) async -> Int64 {
        let (record, store, excluded) = (loader.record, loader.store, loader.joining.withLock(\.excluded))
        let isWhole = loader.look { $0.known.isWhole }
        guard
            let segments = try? await loader.pool.run({
                try record.neighbours(excluding: excluded, isWhole: isWhole)
            }),
            loader.look({ $0.hasWritten(segments) })
        else { return 0 }
        do {
            guard let new = try await loader.pool.run({ try record.join(segments) }) else { return 0 }
            loader.exchange(segments, for: [new])
            try? await loader.pool.run { SegmentReseal(store).removeReplaced(segments, by: [new]) }
            return new.length
        } catch is SegmentFailure {
            // A segment that does not open will be reported by a reader or by verification.
            exclude(segments, from: loader)
            return 0
        } catch {
            return 0
        }
    }

    // Never inlined into the async functions, for the reason that `Locked` states.
    @inline(never)
    private static func end(_ loader: ResourceLoader, joinedNothing: Bool) {
        let waiting = loader.joining.withLock { joining in
            joining.joinedNothing = joinedNothing
            return joining.end()
        }
        for waiter in waiting { waiter.resume() }
    }

    @inline(never)
    private static func exclude(_ segments: [SegmentDescription], from loader: ResourceLoader) {
        loader.joining.withLock { $0.excluded.formUnion(segments.map(\.id)) }
    }
}
