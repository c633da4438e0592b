import VaultModel
import VaultStorage

/// Joins small segments of one resource, behind playback.
struct Joining {
    /// Whether it is at work: the resource is in use then.
    var isRunning = false
    /// Segments that could not be joined, for as long as the loader lives.
    var excluded: Set<SegmentID> = []

    /// So many side by side are joined whatever goes on; fewer only once nobody has read and nothing was fetched for
    /// ``rest``, since more may come that would have them sealed once more.
    static let crowd = 16
    static let rest: Duration = .seconds(10)
}

extension ResourceLoader {
    /// Whether segments are to be joined now.
    ///
    /// - Parameter isResting: whether nobody has used it for ``Joining/rest``.
    func isCrowded(isResting: Bool) -> Bool {
        let crowd = look { $0.map.crowd }
        return crowd >= Joining.crowd || (crowd > 1 && isResting)
    }

    /// Joins the most segments that lie side by side and fit one.
    func joinNeighbours() async {
        guard let excluded = beginJoining() else { return }
        defer { endJoining() }
        let (record, store) = (record, store)
        guard let segments = try? await pool.run({ try record.neighbours(excluding: excluded) }),
            segments.allSatisfy({ segment in look { $0.map.length(of: segment.id) == segment.length } })
        else { return }
        guard let new = try? await pool.run({ try record.join(segments) }) else {
            // What does not open a reader finds, or verify; what has no room may have it when the title is read again.
            return exclude(segments)
        }
        exchange(segments, for: [new])
        try? await pool.run { store.removeReplaced(segments, by: [new]) }
    }

    /// - Returns: what is not joined; nil where it is at work already.
    @inline(never)
    private func beginJoining() -> Set<SegmentID>? {
        joining.withLock { joining in
            defer { joining.isRunning = true }
            return joining.isRunning ? nil : joining.excluded
        }
    }

    @inline(never)
    private func endJoining() { joining.withLock { $0.isRunning = false } }

    @inline(never)
    private func exclude(_ segments: [SegmentDescription]) {
        joining.withLock { $0.excluded.formUnion(segments.map(\.id)) }
    }
}

extension Vault {
    /// Joins some segments of one title, where there are small ones side by side and nobody waits for bytes.
    func joinSegments(now: ContinuousClock.Instant) {
        guard store.isOwner, keyWork.act == nil, !precedence.isPlayerWaiting else { return }
        let known = loaders.withLock { loaders in
            loaders.values.map { ($0.loader, !$0.isInUse && now - $0.idleSince >= Joining.rest) }
        }
        guard let (crowded, _) = known.first(where: { !$0.isBroken && $0.isCrowded(isResting: $1) }) else { return }
        _ = chores.begin { await crowded.joinNeighbours() }
    }
}
