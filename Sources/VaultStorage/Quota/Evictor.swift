import VaultModel

/// Evicts resources: deletes their rows first, then removes their files by way of the list of pending deletions.
final class Evictor: Sendable {
    /// The queue of resources to evict. It is locked during an eviction, so that only one runs at a time, and none
    /// evicts anything after another has already freed the space.
    let queue = Locked(EvictionQueue())
    private let use = Locked(ResourceUse.none)
    private let evicted = Locked(EvictionCounters())

    private let index: VaultIndex
    private var rows: EvictionRows { EvictionRows(index) }
    private let account: QuotaAccount
    private let reserve: Reserve
    /// A closure that removes the files of segments that are pending deletion, and returns their bytes.
    private let removeFiles: @Sendable ([SegmentID]) throws -> Int64
    /// A closure that is called with the resources that lost segments, and the number of resources deleted.
    private let didEvict: @Sendable ([ResourceID], Int) -> Void

    init(
        index: VaultIndex, account: QuotaAccount, reserve: Reserve,
        removingFiles: @escaping @Sendable ([SegmentID]) throws -> Int64,
        reporting: @escaping @Sendable (_ resources: [ResourceID], _ deleted: Int) -> Void
    ) {
        self.index = index
        self.account = account
        self.reserve = reserve
        removeFiles = removingFiles
        didEvict = reporting
    }

    /// The total of what was evicted since the vault was opened.
    var total: EvictionCounters { evicted.withLock { $0 } }

    var resourcesInUse: Set<ResourceID> { use.withLock { $0 }.all() }

    /// Sets the closures that report which resources are in use and therefore not evicted.
    func setResourceUse(_ use: ResourceUse) { self.use.withLock { $0 = use } }

    /// Evicts resources until `needed` bytes of files are gone, or nothing more may be evicted. The caller holds the
    /// lock of ``queue``.
    func evict(
        _ needed: Int64, _ classes: Set<ResourceClass>, _ queue: inout EvictionQueue
    ) throws -> EvictionCounters {
        var gone = EvictionCounters()
        let inUse = resourcesInUse
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
            if let last = plan.victims.last, !last.isWhole,
                let rest = candidates.first(where: { $0.resource == last.resource })
            {
                queue.putBack(rest)
            }
            // If no file could be removed, continuing would delete every row in vain.
            if now.segments > 0, now.bytes == 0 { break }
        }
        return gone
    }

    /// Returns the next resource to evict; nil if there is none, or if its class is not one of `classes`.
    func next(_ classes: Set<ResourceClass>, _ queue: inout EvictionQueue) throws -> EvictionPlan.Candidate? {
        while true {
            if queue.waiting.isEmpty {
                queue.fill(try rows.evictable(limit: EvictionQueue.pageSize, after: queue.last))
            }
            guard let id = queue.waiting.first?.resource else { return nil }
            guard !queue.passed.contains(id), let candidate = try rows.unit(id), !candidate.segments.isEmpty,
                candidate.resourceClass != .pinned, !candidate.isAmong(queue.inUse)
            else {
                queue.pass()
                continue
            }
            // The index is queried again before a download is evicted, because a resource that was only played may have
            // been added since the last query.
            if candidate.resourceClass == .download, !queue.isFresh {
                queue.clear()
                continue
            }
            return classes.contains(candidate.resourceClass) ? candidate : nil
        }
    }

    /// Returns whether `needed` bytes of files could be evicted now.
    func canEvict(_ needed: Int64, _ classes: Set<ResourceClass>) throws -> Bool {
        var queue = EvictionQueue()
        queue.begin(inUse: resourcesInUse)
        var bytes: Int64 = 0
        while bytes < needed, let candidate = try next(classes, &queue) {
            queue.pass()
            bytes += candidate.bytes
        }
        return bytes >= needed
    }

    /// Deletes what a plan names: the rows in one transaction, then the files.
    ///
    /// - Returns: what was evicted, and the resources that were kept, for example because a reader began to use them or
    ///   they were pinned in the meantime.
    private func carryOut(_ plan: EvictionPlan) throws -> (EvictionCounters, refused: [ResourceID]) {
        account.track(plan.victims.flatMap(\.segments))
        let forget = use.withLock { $0 }.forget
        let (victims, resources) = try freeingSpace { try rows.evict(plan.victims, forget: forget) }
        let parts = victims.flatMap(\.parts)
        didEvict(victims.map(\.resource), resources + parts.count)
        let segments = victims.flatMap(\.segments)
        let bytes = try removeFiles(segments.map(\.id))
        let gone = EvictionCounters(resources: resources, segments: segments.count, bytes: bytes)
        evicted.withLock { $0 += gone }
        let refused = Set(plan.victims.map(\.resource)).subtracting(victims.map(\.resource))
        return (gone, Array(refused))
    }

    /// Runs a write that frees space, on a disk that may be full.
    ///
    /// If the disk is full, the write reuses parts of the index's log that are no longer needed, or the space of the
    /// reserve.
    private func freeingSpace<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as VaultError where error.code == .diskFull {
            try? index.database.reuseLog()
            return try reserve.withReserve(for: body)
        }
    }

    // MARK: Limits

    /// Evicts what exceeds the given limits: first the age limit, then the size limit, then the space to leave free.
    func prune(_ limits: StorageLimits) throws -> EvictionCounters {
        try queue.withLock { queue in
            queue.clear()
            var gone = EvictionCounters()
            if let age = limits.age { gone += try evictUnreadSince(for: age) }
            let excess = limits.size.map { account.used - $0 } ?? 0
            if excess > 0 { gone += try evict(excess, limits.sizeClasses, &queue) }
            let short = limits.free > 0 ? limits.free - (account.freeBytes() ?? .max) : 0
            if short > 0 { gone += try evict(short, [.cache], &queue) }
            return gone
        }
    }

    /// Returns what ``prune(_:)`` would evict now, without evicting anything.
    func previewPrune(_ limits: StorageLimits) throws -> EvictionCounters {
        var gone = EvictionCounters()
        var chosen = resourcesInUse
        func choose(_ plan: EvictionPlan) throws {
            for victim in plan.victims {
                chosen.insert(victim.resource)
                gone.segments += victim.segments.count
                if victim.isWhole, try rows.candidate(victim.resource)?.resourceClass == .cache,
                    try rows.hasNoOwnMode(victim.resource)
                {
                    gone.resources += 1
                }
            }
            gone.bytes += plan.bytes
        }
        func preview(_ needed: Int64, _ classes: Set<ResourceClass>) throws {
            let target = gone.bytes + needed
            try visit { candidates in
                try choose(
                    EvictionPlan(freeing: target - gone.bytes, of: candidates, inUse: chosen, classes: classes))
                return gone.bytes < target
            }
        }
        if let age = limits.age {
            try visit(readBefore: index.now() - age) { candidates in
                try choose(EvictionPlan(olderThan: age, now: index.now(), of: candidates, inUse: chosen))
                return true
            }
        }
        let excess = limits.size.map { account.used - gone.bytes - $0 } ?? 0
        if excess > 0 { try preview(excess, limits.sizeClasses) }
        let short = limits.free > 0 ? limits.free - (account.freeBytes() ?? .max) - gone.bytes : 0
        if short > 0 { try preview(short, [.cache]) }
        return gone
    }

    /// Returns the resources that the age limit will remove completely within `time` seconds, each with the time at
    /// which it was last read.
    ///
    /// At most `limit` resources are returned, in the order of eviction.
    func expiring(within time: Int64, age: Int64, limit: Int) throws -> [(resource: ResourceID, accessed: Int64)] {
        let early = max(0, age - time)
        let inUse = resourcesInUse
        var found: [(resource: ResourceID, accessed: Int64)] = []
        try visit(readBefore: index.now() - early) { candidates in
            for victim in EvictionPlan(olderThan: early, now: index.now(), of: candidates, inUse: inUse).victims
            where victim.isWhole && found.count < limit {
                found.append((victim.resource, victim.accessed))
            }
            return found.count < limit
        }
        return found
    }

    /// Returns at most `limit` resources or titles that a size limit would evict first, in the order of eviction, with
    /// the space that each would free. Blocks.
    func next(_ limit: Int, of classes: Set<ResourceClass>) throws -> [EvictionPlan.Candidate] {
        let inUse = resourcesInUse
        var found: [EvictionPlan.Candidate] = []
        try visit { candidates in
            found += candidates.filter { classes.contains($0.resourceClass) && !$0.isAmong(inUse) && $0.bytes > 0 }
            return found.count < limit
        }
        return Array(found.prefix(limit))
    }

    /// Visits the resources that may be evicted, page by page in the order of eviction, while `take` returns true.
    private func visit(
        readBefore time: Int64? = nil, _ take: ([EvictionPlan.Candidate]) throws -> Bool
    ) throws {
        var last: EvictionPosition?
        while true {
            let page = try rows.evictable(limit: EvictionQueue.pageSize, after: last, readBefore: time)
            guard let end = page.last else { return }
            last = end
            guard try take(try page.compactMap { try rows.unit($0.resource) }) else { return }
        }
    }

    private func evictUnreadSince(for age: Int64) throws -> EvictionCounters {
        var gone = EvictionCounters()
        let inUse = resourcesInUse
        // Each resource is visited once, even if it keeps its row because it has a mode of its own.
        try visit(readBefore: index.now() - age) { candidates in
            let plan = EvictionPlan(olderThan: age, now: index.now(), of: candidates, inUse: inUse)
            if !plan.victims.isEmpty { gone += try carryOut(plan).0 }
            return true
        }
        return gone
    }
}
