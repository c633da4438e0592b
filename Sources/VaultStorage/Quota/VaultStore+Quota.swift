package import VaultModel

// Room for what is about to be written.
extension VaultStore {
    /// Counts the files that are there. What the index says is believed; only files whose rows do not tell their size
    /// are looked at.
    func beginCounting() throws {
        var untold: [SegmentID: Int64] = [:]
        var told = try index.fileBytes()
        for (segment, _) in try index.openSegments() {
            told -= segment.diskSize
            untold[segment.id] = diskSize(of: segment.id)
        }
        for id in try index.doomedSegments(limit: .max) { untold[id] = diskSize(of: id) }
        room.begin(told: told, untold: untold)
    }

    /// What a segment's file takes on the disk; nothing where it is not there.
    func diskSize(of id: SegmentID) -> Int64 {
        SegmentDescription.diskSize(ofFile: (try? segments.size(of: id)) ?? 0)
    }

    /// What segment files take on the disk; beside an owner what the index tells of them.
    package func bytesUsed() throws -> Int64 { isOwner ? room.used : try index.fileBytes() }

    /// Says who uses what: nothing of that is evicted.
    package func respect(_ use: ResourceUse) { self.use.withLock { $0 = use } }

    /// Counts bytes that were handed on and not stored.
    package func countPassedThrough(_ bytes: Int64) { counters.withLock { $0.passedThrough += bytes } }

    /// Bytes handed on and not stored, and bytes of files evicted, since the vault was opened.
    package var tally: (passedThrough: Int64, evicted: Int64) {
        counters.withLock { ($0.passedThrough, $0.evicted.bytes) }
    }

    /// What was evicted since the vault was opened.
    package var evictions: EvictionCounters { counters.withLock { $0.evicted } }

    /// Lets a segment's file grow to `size` bytes, evicting what must go for that.
    ///
    /// - Throws: ``VaultError`` with code `noRoom`.
    func admit(_ size: Int64, for id: SegmentID, _ outlook: WriteEstimate) throws {
        guard let shortage = room.reserve(size, for: id) else { return }
        guard shortage.size == 0 || mayEvict(for: outlook.length) else {
            throw Self.noRoom("the title is larger than the vault may become; raise the limit")
        }
        try eviction.withLock { queue in
            while let shortage = room.reserve(size, for: id) {
                let gone =
                    shortage.size > 0
                    ? try evict(shortage.size + outlook.ahead, room.limits.sizeClasses, &queue)
                    : try evict(shortage.free + outlook.ahead, [.cache], &queue)
                guard gone.bytes > 0 else {
                    throw Self.noRoom(
                        shortage.size > 0
                            ? "the vault is as large as it may become, and the rest of it is pinned, in use or kept by "
                                + "name; raise the limit, or unpin or remove something"
                            : "the disk has no more room than is to be left free; make room on it, or let less be "
                                + "left free")
                }
            }
        }
    }

    /// Whether others may go for a title of this length: one that never fits is no reason to lose them.
    private func mayEvict(for length: Int64?) -> Bool {
        guard let limit = room.limits.size, let length else { return true }
        return Self.fileBytes(of: length) <= limit
    }

    /// The bytes of the files that hold a whole title, cut as rarely as can be.
    static func fileBytes(of length: Int64) -> Int64 {
        guard length <= ContentInformation.mostBytes else { return length }
        let block = Int64(blockSize)
        let files = (length + SegmentDescription.mostBytes - 1) / SegmentDescription.mostBytes
        let bytes = length + Int64(SegmentDescription.tagByteCount) * ((length + block - 1) / block)
            + Int64(SegmentDescription.headerByteCount) * files
        // Each file ends within a unit of the disk's.
        return SegmentDescription.diskSize(ofFile: bytes) + SegmentDescription.diskUnit * max(0, files - 1)
    }

    private static func noRoom(_ reason: String) -> VaultError {
        VaultError(.noRoom, reason)
    }

    /// Whether it may be tried again to store a title, after the store refused with an error.
    ///
    /// - Parameter length: the title's, where it is known.
    package func hasRoom(after error: VaultError, length: Int64?) -> Bool {
        switch error.code {
        case .diskFull: return hasDiskRoom
        case .noRoom:
            guard let shortage = room.shortage(of: StorageQuota.step) else { return true }
            guard shortage.size == 0 || mayEvict(for: length) else { return false }
            return eviction.withLock { queue in
                queue.begin(inUse: use.withLock { $0 }.all())
                return ((try? next(shortage.size > 0 ? room.limits.sizeClasses : [.cache], &queue)) ?? nil) != nil
            }
        default: return true
        }
    }

    /// Whether the disk has room to begin storing again. What a file system does not say, the next write will.
    package var hasDiskRoom: Bool { room.freeBytes().map { $0 >= StorageQuota.step + room.limits.free } ?? true }

    /// Does something with the index; where the disk is full, evicts something and tries once more.
    ///
    /// - Parameter isVital: whether the reserve is given up for it first: it makes room, or nothing goes on without it.
    func withDiskRoom<Result>(orReserve isVital: Bool = false, _ body: () throws -> Result) throws -> Result {
        do {
            return try isVital ? reserve.givenUp(for: body) : body()
        } catch let error as VaultError where error.code == .diskFull {
            guard makeDiskRoom() else { throw error }
            return try body()
        }
    }

    /// Evicts something that was merely played, since the disk is full.
    ///
    /// - Returns: whether anything went.
    package func makeDiskRoom() -> Bool {
        guard isOwner else { return false }
        return eviction.withLock { queue in
            // Rows go before files, always: where the index takes no write even so, nothing goes.
            ((try? evict(StorageQuota.step, [.cache], &queue).bytes) ?? 0) > 0
        }
    }
}

extension SegmentWriter {
    /// Takes bytes once there is room for them, as ``append(_:)`` does.
    ///
    /// - Throws: ``VaultError``: `noRoom`; `diskFull` or `storage` where they cannot be written.
    package mutating func append(_ bytes: ArraySlice<UInt8>, in store: VaultStore, _ outlook: WriteEstimate) throws {
        try store.admit(SegmentDescription.diskSize(ofFile: fileSize(after: bytes.count)), for: segment.id, outlook)
        do throws(FileFailure) {
            try append(bytes)
        } catch {
            throw error.vaultError("a segment cannot be written")
        }
        store.work.sealed.count(Int64(bytes.count))
    }
}

// What goes, and how: rows first, by list, then files.
extension VaultStore {
    /// Evicts until so many bytes of files are gone, or nothing may go any more. The caller holds ``eviction``.
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
            // A disk that removes nothing would cost the index everything.
            if now.segments > 0, now.bytes == 0 { break }
        }
        return gone
    }

    /// The resource that goes next, where one of these classes may.
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
    private func carryOut(_ plan: EvictionPlan) throws -> (EvictionCounters, refused: [ResourceID]) {
        room.track(plan.victims.flatMap(\.segments))
        let letGo = use.withLock { $0 }.letGo
        let (evicted, resources) = try makingRoom { try index.evict(plan.victims, letGo: letGo) }
        for _ in 0..<resources { noteChange() }
        for victim in evicted { changes.note(victim.resource) }
        let condemned = evicted.flatMap(\.segments)
        let bytes = try removeFiles(of: condemned.map(\.id)).bytes
        let gone = EvictionCounters(resources: resources, segments: condemned.count, bytes: bytes)
        counters.withLock { $0.evicted += gone }
        let refused = Set(plan.victims.map(\.resource)).subtracting(evicted.map(\.resource))
        return (gone, Array(refused))
    }

    /// Writes what makes room on a disk that may have none: over what the log does not need any more, or where the reserve
    /// was.
    private func makingRoom<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as VaultError where error.code == .diskFull {
            try? index.reuseLog()
            return try reserve.givenUp(for: body)
        }
    }

    // MARK: Limits

    /// Lets go of what lies beyond limits: first what is too old, then what is too much.
    package func prune(_ limits: StorageLimits) throws -> EvictionCounters {
        try eviction.withLock { queue in
            queue.clear()
            var gone = EvictionCounters()
            if let age = limits.age { gone += try evictUnread(for: age) }
            let excess = limits.size.map { room.used - $0 } ?? 0
            if excess > 0 { gone += try evict(excess, limits.sizeClasses, &queue) }
            let short = limits.free > 0 ? limits.free - (room.freeBytes() ?? .max) : 0
            if short > 0 { gone += try evict(short, [.cache], &queue) }
            return gone
        }
    }

    /// What ``prune(_:)`` would let go of now; nothing goes.
    package func pruneRehearsal(_ limits: StorageLimits) throws -> EvictionCounters {
        var gone = EvictionCounters()
        var chosen = use.withLock { $0 }.all()
        func choose(_ plan: EvictionPlan) throws {
            for victim in plan.victims {
                chosen.insert(victim.resource)
                gone.segments += victim.segments.count
                if victim.isWhole, try index.candidate(victim.resource)?.resourceClass == .cache,
                    try index.goesWhole(victim.resource)
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
        let excess = limits.size.map { room.used - gone.bytes - $0 } ?? 0
        if excess > 0 { try rehearse(excess, limits.sizeClasses) }
        let short = limits.free > 0 ? limits.free - (room.freeBytes() ?? .max) - gone.bytes : 0
        if short > 0 { try rehearse(short, [.cache]) }
        return gone
    }

    /// Goes through what may go, in the order in which it would, as long as it is told to.
    private func walk(
        readBefore time: Int64? = nil, _ take: ([EvictionPlan.Candidate]) throws -> Bool
    ) throws {
        var last: EvictionPlace?
        while true {
            let page = try index.evictable(limit: EvictionQueue.pageSize, after: last, readBefore: time)
            guard let end = page.last else { return }
            last = end
            guard try take(try page.compactMap { try index.candidate($0.resource) }) else { return }
        }
    }

    /// Refuses a limit of size that could be kept to only with what no limit takes away.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    package func requireReachable(_ limits: StorageLimits) throws {
        guard let size = limits.size else { return }
        let kept = try index.keptFileBytes(evicting: limits.sizeClasses)
        guard kept > size else { return }
        let what = limits.evictsDownloads == true ? "are pinned" : "are pinned or were fetched by name"
        let way =
            limits.evictsDownloads == true
            ? "unpin or remove something" : "remove something, or let it cost downloads by evict-downloads"
        throw VaultError(
            .invalidArgument,
            "the vault cannot be kept to \(size) bytes: \(kept) bytes of it \(what), and no limit takes those away; "
                + "raise the limit, \(way)")
    }

    /// Whether something lies beyond the limits in force, as far as that shows without asking the index.
    package var isOverfull: Bool { room.excess != nil }

    private func evictUnread(for age: Int64) throws -> EvictionCounters {
        var gone = EvictionCounters()
        let inUse = use.withLock { $0 }.all()
        // Each is met once, though it keep its row because it has a mode.
        try walk(readBefore: now() - age) { candidates in
            let plan = EvictionPlan(olderThan: age, now: now(), of: candidates, inUse: inUse)
            if !plan.victims.isEmpty { gone += try carryOut(plan).0 }
            return true
        }
        return gone
    }

    /// Sets the limits in force: where they do not say what to leave free, the usual part of the disk.
    package func enforce(_ limits: StorageLimits) { room.limits = room.settled(limits) }

    /// Notes that the wall clock was wrong: what was read by it then was read now.
    package func correctAccesses(from first: Int64, through last: Int64, to time: Int64) throws {
        if isOwner { try index.moveAccesses(from: first, through: last, to: time) }
    }

    // MARK: By name

    /// Removes a resource: what it holds, what is known of it, and its keys, from the index, from its log and from
    /// `catalog.backup`. Where something was erased within the last minute, that is done when it is over: ``owesErasure()``.
    ///
    /// - Returns: the bytes of its files; nil where there is no such resource.
    /// - Throws: ``VaultError`` where a copy of the sealed key may remain: it is tried again until it is gone.
    package func remove(_ id: ResourceID) throws -> Int64? {
        if let held = try index.candidate(id)?.segments { room.track(held) }
        guard let segments = try withDiskRoom(orReserve: true, { try index.remove(id) }) else { return nil }
        noteChange()
        changes.note(id)
        // Files that cannot be removed now stay on the list.
        _ = try? removeFiles(of: segments.map(\.id))
        do {
            if isErasingDue { try eraseTraces() }
        } catch {
            throw VaultError(
                .storage,
                "it is removed, but its sealed key may still stand in the index, its log or catalog.backup; "
                    + "it is tried again every minute: \(error)")
        }
        return segments.reduce(0) { $0 + $1.diskSize }
    }
}
