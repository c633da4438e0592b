package import VaultModel

// What goes, and how: rows first, by list, then files.
extension VaultStore {
    /// Evicts until so many bytes of files are gone, or nothing may go any more. The caller holds ``eviction``.
    func evict(
        _ needed: Int64, _ classes: Set<ResourceClass>, _ queue: inout EvictionQueue
    ) throws -> EvictionTally {
        var gone = EvictionTally()
        let inUse = use.withLock { $0 }.all()
        queue.begin(inUse: inUse)
        while gone.bytes < needed {
            var candidates: [EvictionPlan.Candidate] = []
            var bytes: Int64 = 0
            while bytes < needed - gone.bytes, candidates.count < EvictionQueue.pageSize,
                let candidate = try next(classes, &queue)
            {
                queue.pass()
                candidates.append(candidate)
                bytes += candidate.bytes
            }
            if candidates.isEmpty { break }
            let plan = EvictionPlan(freeing: needed - gone.bytes, of: candidates, inUse: inUse, classes: classes)
            let (now, refused) = try carryOut(plan)
            gone += now
            queue.begin(inUse: queue.inUse.union(refused))
            if let last = plan.victims.last, !last.isWhole { queue.putBack(last.resource) }
            // A disk that removes nothing would cost the index everything.
            if now.segments > 0, now.bytes == 0 { break }
        }
        return gone
    }

    /// The resource that goes next, where one of these classes may.
    func next(_ classes: Set<ResourceClass>, _ queue: inout EvictionQueue) throws -> EvictionPlan.Candidate? {
        while true {
            if queue.waiting.isEmpty {
                queue.fill(try index.evictable(limit: EvictionQueue.pageSize, excluding: queue.passed))
            }
            guard let id = queue.waiting.first else { return nil }
            guard !queue.passed.contains(id), let candidate = try index.candidate(id), !candidate.segments.isEmpty,
                candidate.resourceClass != .pinned
            else {
                queue.pass()
                continue
            }
            // Something that was merely played may have come since the index was asked.
            if candidate.resourceClass == .download, !queue.isFresh {
                queue.clear()
                continue
            }
            return classes.contains(candidate.resourceClass) ? candidate : nil
        }
    }

    /// Deletes what a plan names: one transaction, then the files.
    ///
    /// - Returns: what went, and the resources that somebody has begun to use, or pinned, meanwhile.
    private func carryOut(_ plan: EvictionPlan) throws -> (EvictionTally, refused: [ResourceID]) {
        room.track(plan.victims.flatMap(\.segments))
        let letGo = use.withLock { $0 }.letGo
        let (evicted, resources) = try index.evict(plan.victims, letGo: letGo)
        for _ in 0..<resources { noteChange() }
        for victim in evicted { changes.note(victim.resource) }
        let condemned = evicted.flatMap(\.segments)
        let bytes = try removeFiles(of: condemned.map(\.id)).bytes
        counters.withLock { $0.evicted += bytes }
        let refused = Set(plan.victims.map(\.resource)).subtracting(evicted.map(\.resource))
        return (EvictionTally(resources: resources, segments: condemned.count, bytes: bytes), Array(refused))
    }

    // MARK: Limits

    /// Lets go of what lies beyond limits: first what is too old, then what is too much.
    package func prune(_ limits: RoomLimits) throws -> EvictionTally {
        try eviction.withLock { queue in
            queue.clear()
            var gone = EvictionTally()
            if let age = limits.age { gone += try evictUnread(for: age) }
            let excess = limits.size.map { room.used - $0 } ?? 0
            if excess > 0 { gone += try evict(excess, [.cache, .download], &queue) }
            let short = limits.free > 0 ? limits.free - (room.freeBytes() ?? .max) : 0
            if short > 0 { gone += try evict(short, [.cache], &queue) }
            return gone
        }
    }

    /// Whether something lies beyond the limits in force, as far as that shows without asking the index.
    package var isOverfull: Bool { room.excess != nil }

    private func evictUnread(for age: Int64) throws -> EvictionTally {
        var gone = EvictionTally()
        let inUse = use.withLock { $0 }.all()
        var passed = inUse
        while true {
            let page = try index.evictable(limit: EvictionQueue.pageSize, excluding: passed, readBefore: now() - age)
            let candidates = try page.compactMap { try index.candidate($0) }
            let plan = EvictionPlan(olderThan: age, now: now(), of: candidates, inUse: inUse)
            if plan.victims.isEmpty { return gone }
            gone += try carryOut(plan).0
            // A title that keeps its row, because it has a mode, is met once.
            passed.formUnion(plan.victims.map(\.resource))
        }
    }

    /// Sets the limits in force.
    package func enforce(_ limits: RoomLimits) { room.limits = limits }

    // MARK: By name

    /// Removes a resource: what it holds, what is known of it, and its keys, from the index, from its log and from
    /// `catalog.backup`.
    ///
    /// - Returns: the bytes of its files; nil where there is no such resource.
    /// - Throws: ``VaultError`` where a copy of the sealed key may remain: it is tried again until it is gone.
    package func remove(_ id: ResourceID) throws -> Int64? {
        if let held = try index.candidate(id)?.segments { room.track(held) }
        guard let segments = try withDiskRoom({ try index.remove(id) }) else { return nil }
        noteChange()
        changes.note(id)
        counters.withLock { $0.owe(.titles) }
        // Files that cannot be removed now stay on the list.
        _ = try? removeFiles(of: segments.map(\.id))
        do {
            try eraseTraces()
        } catch {
            throw VaultError(
                .storage,
                "it is removed, but its sealed key may still stand in the index, its log or catalog.backup; "
                    + "it is tried again every minute: \(error)")
        }
        return segments.reduce(0) { $0 + $1.diskSize }
    }
}
