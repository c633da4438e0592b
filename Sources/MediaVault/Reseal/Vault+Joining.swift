import VaultModel
import VaultStorage

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
