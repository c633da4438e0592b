package import VaultModel

// Space for upcoming writes.
extension VaultStore {
    /// Counts the existing files.
    ///
    /// Their sizes come from the index; only files whose rows do not state their size are examined.
    func beginCounting() throws {
        var untold: [SegmentID: Int64] = [:]
        var told = try index.fileBytes()
        for (segment, _) in try index.openSegments() {
            told -= segment.diskSize
            untold[segment.id] = diskSize(of: segment.id)
        }
        for id in try index.segmentsPendingDeletion(limit: .max) { untold[id] = diskSize(of: id) }
        quota.begin(told: told, untold: untold)
    }

    /// Returns the disk space of a segment's file; 0 if there is no file.
    func diskSize(of id: SegmentID) -> Int64 {
        SegmentDescription.diskSize(ofFile: (try? segments.size(of: id)) ?? 0)
    }

    /// Returns the disk space of segment files; for a reader, as the index states it.
    package func bytesUsed() throws -> Int64 { isOwner ? quota.used : try index.fileBytes() }

    /// Sets how to ask which resources are in use, since these are not evicted.
    package func setResourceUse(_ use: ResourceUse) { self.use.withLock { $0 = use } }

    /// Counts bytes that were delivered but not stored.
    package func countPassedThrough(_ bytes: Int64) { counters.withLock { $0.passedThrough += bytes } }

    /// Bytes that were delivered but not stored, and bytes of evicted files, since the vault was opened.
    package var tally: (passedThrough: Int64, evicted: Int64) {
        counters.withLock { ($0.passedThrough, $0.evicted.bytes) }
    }

    /// What was evicted since the vault was opened.
    package var evictions: EvictionCounters { counters.withLock { $0.evicted } }

    /// Lets a segment's file grow to `size` bytes, and evicts what is necessary for that.
    ///
    /// - Throws: ``VaultError`` with code `noRoom`.
    func admit(_ size: Int64, for id: SegmentID, _ outlook: WriteEstimate) throws {
        guard let shortage = quota.reserve(size, for: id) else { return }
        guard shortage.size == 0 || mayEvict(for: outlook.length) else {
            throw Self.noRoom("the title is larger than the vault's size limit; raise the limit")
        }
        try eviction.withLock { queue in
            while let shortage = quota.reserve(size, for: id) {
                let gone =
                    shortage.size > 0
                    ? try evict(shortage.size + outlook.ahead, quota.limits.sizeClasses, &queue)
                    : try evict(shortage.free + outlook.ahead, [.cache], &queue)
                guard gone.bytes > 0 else {
                    throw Self.noRoom(
                        shortage.size > 0
                            ? "the vault has reached its size limit, and everything that is left is pinned, in use or "
                                + "a download; raise the limit, or unpin or remove something"
                            : "the disk has no space left beyond what must stay free; free some space, or "
                                + "lower that limit")
                }
            }
        }
    }

    /// Returns whether other resources may be evicted for one of this length: not for one that can never fit.
    private func mayEvict(for length: Int64?) -> Bool {
        guard let limit = quota.limits.size, let length else { return true }
        return Self.fileBytes(of: length) <= limit
    }

    /// Returns the bytes of the files that hold a whole resource in as few segments as possible.
    static func fileBytes(of length: Int64) -> Int64 {
        guard length <= ContentInformation.maxBytes else { return length }
        let block = Int64(blockSize)
        let files = (length + SegmentDescription.maxBytes - 1) / SegmentDescription.maxBytes
        let bytes =
            length + Int64(SegmentDescription.tagByteCount) * ((length + block - 1) / block)
            + Int64(SegmentDescription.headerByteCount) * files
        // Each file may end within a unit of the disk.
        return SegmentDescription.diskSize(ofFile: bytes) + SegmentDescription.diskUnit * max(0, files - 1)
    }

    private static func noRoom(_ reason: String) -> VaultError {
        VaultError(.noRoom, reason)
    }

    /// Returns whether storing a resource may be tried again after the store refused it with an error.
    ///
    /// - Parameter length: the resource's length in bytes, if known.
    package func hasRoom(after error: VaultError, length: Int64?) -> Bool {
        switch error.code {
        case .diskFull: return hasDiskSpace
        case .noRoom:
            guard let shortage = quota.shortage(of: StorageQuota.step) else { return true }
            guard shortage.size == 0 || mayEvict(for: length) else { return false }
            return eviction.withLock { queue in
                queue.begin(inUse: use.withLock { $0 }.all())
                return ((try? next(shortage.size > 0 ? quota.limits.sizeClasses : [.cache], &queue)) ?? nil) != nil
            }
        default: return true
        }
    }

    /// Whether the disk has enough space to resume storing. If that is unknown, the next write will show it.
    package var hasDiskSpace: Bool { quota.freeBytes().map { $0 >= StorageQuota.step + quota.limits.free } ?? true }

    /// Runs work on the index; if the disk is full, evicts something and tries once more.
    ///
    /// - Parameter isVital: whether the reserve is given up first: the work frees space, or nothing works without it.
    func withDiskSpace<Result>(orReserve isVital: Bool = false, _ body: () throws -> Result) throws -> Result {
        do {
            return try isVital ? reserve.withReserve(for: body) : body()
        } catch let error as VaultError where error.code == .diskFull {
            guard freeDiskSpace() else { throw error }
            return try body()
        }
    }

    /// Evicts something that was only played, because the disk is full.
    ///
    /// - Returns: whether anything was evicted.
    package func freeDiskSpace() -> Bool {
        guard isOwner else { return false }
        return eviction.withLock { queue in
            // Rows are always deleted before files: if the index takes no writes even now, nothing is evicted.
            ((try? evict(StorageQuota.step, [.cache], &queue).bytes) ?? 0) > 0
        }
    }
}

extension SegmentWriter {
    /// Appends bytes once there is space for them, as ``append(_:)`` does.
    ///
    /// - Throws: ``VaultError``: `noRoom`; `diskFull` or `storage` if they cannot be written.
    package mutating func append(_ bytes: ArraySlice<UInt8>, in store: VaultStore, _ outlook: WriteEstimate) throws {
        try store.admit(SegmentDescription.diskSize(ofFile: fileSize(after: bytes.count)), for: segment.id, outlook)
        do throws(FileFailure) {
            try append(bytes)
        } catch {
            throw error.vaultError("a segment cannot be written")
        }
        store.work.sealed.count(Int64(bytes.count))
    }

    /// Makes the whole blocks durable and commits them.
    package mutating func checkpoint(in store: VaultStore) throws { try store.checkpoint(&self) }
}

// Eviction: rows first, then files, through the list of pending deletions.
extension VaultStore {
    /// Evicts until `needed` bytes of files are gone, or nothing more may be evicted. The caller holds ``eviction``.
    func evict(
        _ needed: Int64, _ classes: Set<ResourceClass>, _ queue: inout EvictionQueue
    ) throws -> EvictionCounters {
        var gone = EvictionCounters()
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
            if let last = plan.victims.last, !last.isWhole,
                let rest = candidates.first(where: { $0.resource == last.resource })
            {
                queue.putBack(rest)
            }
            // If the disk removes no files, going on would delete every row in vain.
            if now.segments > 0, now.bytes == 0 { break }
        }
        return gone
    }

    /// Returns the next resource to evict, if its class is one of these.
    func next(_ classes: Set<ResourceClass>, _ queue: inout EvictionQueue) throws -> EvictionPlan.Candidate? {
        while true {
            if queue.waiting.isEmpty {
                queue.fill(try index.evictable(limit: EvictionQueue.pageSize, after: queue.last))
            }
            guard let id = queue.waiting.first?.resource else { return nil }
            guard !queue.passed.contains(id), let candidate = try index.candidate(id), !candidate.segments.isEmpty,
                candidate.resourceClass != .pinned
            else {
                queue.pass()
                continue
            }
            // A resource that was only played may have been added since the index was queried.
            if candidate.resourceClass == .download, !queue.isFresh {
                queue.clear()
                continue
            }
            return classes.contains(candidate.resourceClass) ? candidate : nil
        }
    }

    /// Deletes what a plan names: one transaction, then the files.
    ///
    /// - Returns: what was evicted, and the resources that a reader began to use, or that were pinned, in the meantime.
    private func carryOut(_ plan: EvictionPlan) throws -> (EvictionCounters, refused: [ResourceID]) {
        quota.track(plan.victims.flatMap(\.segments))
        let letGo = use.withLock { $0 }.letGo
        let (evicted, resources) = try freeingSpace { try index.evict(plan.victims, letGo: letGo) }
        for _ in 0..<resources { noteChange() }
        for victim in evicted { changes.note(victim.resource) }
        let evictedSegments = evicted.flatMap(\.segments)
        let bytes = try removeFiles(of: evictedSegments.map(\.id)).bytes
        let gone = EvictionCounters(resources: resources, segments: evictedSegments.count, bytes: bytes)
        counters.withLock { $0.evicted += gone }
        let refused = Set(plan.victims.map(\.resource)).subtracting(evicted.map(\.resource))
        return (gone, Array(refused))
    }

    /// Runs a write that frees space on a disk that may have none.
    ///
    /// It is written over parts of the log that are no longer needed, or where the reserve was.
    private func freeingSpace<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as VaultError where error.code == .diskFull {
            try? index.database.reuseLog()
            return try reserve.withReserve(for: body)
        }
    }

    // MARK: Limits

    /// Evicts what exceeds the given limits: first by age, then by size.
    package func prune(_ limits: StorageLimits) throws -> EvictionCounters {
        try eviction.withLock { queue in
            queue.clear()
            var gone = EvictionCounters()
            if let age = limits.age { gone += try evictUnreadSince(for: age) }
            let excess = limits.size.map { quota.used - $0 } ?? 0
            if excess > 0 { gone += try evict(excess, limits.sizeClasses, &queue) }
            let short = limits.free > 0 ? limits.free - (quota.freeBytes() ?? .max) : 0
            if short > 0 { gone += try evict(short, [.cache], &queue) }
            return gone
        }
    }

    /// Returns what ``prune(_:)`` would evict now, without evicting anything.
    package func previewPrune(_ limits: StorageLimits) throws -> EvictionCounters {
        var gone = EvictionCounters()
        var chosen = use.withLock { $0 }.all()
        func choose(_ plan: EvictionPlan) throws {
            for victim in plan.victims {
                chosen.insert(victim.resource)
                gone.segments += victim.segments.count
                if victim.isWhole, try index.candidate(victim.resource)?.resourceClass == .cache,
                    try index.hasNoOwnMode(victim.resource)
                {
                    gone.resources += 1
                }
            }
            gone.bytes += plan.bytes
        }
        func rehearse(_ needed: Int64, _ classes: Set<ResourceClass>) throws {
            let target = gone.bytes + needed
            try walk { candidates in
                try choose(
                    EvictionPlan(freeing: target - gone.bytes, of: candidates, inUse: chosen, classes: classes))
                return gone.bytes < target
            }
        }
        if let age = limits.age {
            try walk(readBefore: now() - age) { candidates in
                try choose(EvictionPlan(olderThan: age, now: now(), of: candidates, inUse: chosen))
                return true
            }
        }
        let excess = limits.size.map { quota.used - gone.bytes - $0 } ?? 0
        if excess > 0 { try rehearse(excess, limits.sizeClasses) }
        let short = limits.free > 0 ? limits.free - (quota.freeBytes() ?? .max) - gone.bytes : 0
        if short > 0 { try rehearse(short, [.cache]) }
        return gone
    }

    /// Visits resources that may be evicted, in the order of eviction, while `take` returns true.
    private func walk(
        readBefore time: Int64? = nil, _ take: ([EvictionPlan.Candidate]) throws -> Bool
    ) throws {
        var last: EvictionPosition?
        while true {
            let page = try index.evictable(limit: EvictionQueue.pageSize, after: last, readBefore: time)
            guard let end = page.last else { return }
            last = end
            guard try take(try page.compactMap { try index.candidate($0.resource) }) else { return }
        }
    }

    /// Refuses a size limit below the space of the resources that no limit evicts.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    package func requireAttainable(_ limits: StorageLimits) throws {
        guard let size = limits.size else { return }
        let kept = try index.protectedFileBytes(evicting: limits.sizeClasses)
        guard kept > size else { return }
        let what = limits.evictsDownloads == true ? "are pinned" : "are pinned or downloaded"
        let way =
            limits.evictsDownloads == true
            ? "or unpin or remove something" : "remove something, or allow eviction of downloads"
        throw VaultError(
            .invalidArgument,
            "the vault cannot be limited to \(size) bytes: \(kept) bytes of it \(what), and no limit evicts those; "
                + "raise the limit, \(way)",
            hint: limits.evictsDownloads == true ? nil : .evictDownloads)
    }

    /// Whether the vault exceeds the limits in force, as far as is known without querying the index.
    package var exceedsLimits: Bool { quota.excess != nil }

    private func evictUnreadSince(for age: Int64) throws -> EvictionCounters {
        var gone = EvictionCounters()
        let inUse = use.withLock { $0 }.all()
        // Each resource is visited once, even if it keeps its row because it has a mode of its own.
        try walk(readBefore: now() - age) { candidates in
            let plan = EvictionPlan(olderThan: age, now: now(), of: candidates, inUse: inUse)
            if !plan.victims.isEmpty { gone += try carryOut(plan).0 }
            return true
        }
        return gone
    }

    /// Sets the limits in force, with the usual part of the disk to leave free if they do not set one.
    package func enforce(_ limits: StorageLimits) { quota.limits = quota.settled(limits) }

    /// Sets last-access times that came from a wrong wall clock to `time`.
    package func correctAccessTimes(from first: Int64, through last: Int64, to time: Int64) throws {
        if isOwner { try index.moveAccessTimes(from: first, through: last, to: time) }
    }

    // MARK: Removal by name

    /// Removes a resource with everything it holds, its metadata and its keys.
    ///
    /// They are also erased from the index's log and from `catalog.backup`. If there was an erasure within the last
    /// minute, this one is left pending: ``hasPendingErasure()``.
    ///
    /// - Returns: the bytes of its files; nil if there is no such resource.
    /// - Throws: ``VaultError`` if a copy of the sealed key may remain; erasing is retried until it is gone.
    package func remove(_ id: ResourceID) throws -> Int64? {
        if let held = try index.candidate(id)?.segments { quota.track(held) }
        guard let segments = try withDiskSpace(orReserve: true, { try index.remove(id) }) else { return nil }
        noteChange()
        changes.note(id)
        // Files that cannot be removed now stay on the list.
        _ = try? removeFiles(of: segments.map(\.id))
        do {
            if isErasingDue { try carryOutErasure() }
        } catch {
            throw VaultError(
                .storage,
                "the resource was removed, but its sealed key may remain in the index, its log or catalog.backup; "
                    + "erasing it is retried every minute: \(error)")
        }
        return segments.reduce(0) { $0 + $1.diskSize }
    }
}
