import VaultModel
import VaultStorage

// How much room the vault takes.
extension Vault {
    /// The limits that the vault's settings name. ``VaultStatus/limits`` says which are in force.
    public func limits() async throws -> RoomLimits {
        let store = store
        return try await pool.run { try store.index.settings().limits }
    }

    /// Writes limits into the vault's settings, and keeps to them from now on.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where a limit is below 0.
    public func setLimits(_ limits: RoomLimits) async throws {
        let all = [limits.maxSize ?? 0, limits.maxAge ?? 0, limits.minFree]
        guard all.allSatisfy({ (0...ContentInformation.mostBytes).contains($0) }) else {
            throw VaultError(.invalidArgument, "a limit is 0, which is none, or a number above it")
        }
        let (store, ofRun) = (store, limitsOfRun)
        try await pool.run {
            try store.changeSettings { $0.limits = limits }
            store.noteChange()
            store.enforce(ofRun?.over(limits) ?? limits)
            _ = try store.prune(store.room.limits)
        }
    }

    /// Lets go of what lies beyond limits, once: what was merely played and not read for so long, then what is too much,
    /// what was merely played first. What is pinned, and what is in use, stays.
    public func prune(_ limits: RoomLimits) async throws -> PruneReport {
        let store = store
        return try await pool.run {
            let gone = try store.prune(limits)
            return PruneReport(
                resources: gone.resources, segments: gone.segments, bytes: gone.bytes, used: store.room.used)
        }
    }

    /// Tells when bytes begin to pass through unstored, and when all are stored again; ends with the vault.
    public func storeEvents() -> AsyncStream<StoreEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreEvent.self)
        let id = passage.withLock { $0.add(continuation) }
        continuation.onTermination = { [weak self] _ in self?.passage.withLock { $0.remove(id) } }
        return stream
    }

    /// The limits that count now.
    func limitsInForce() async throws -> RoomLimits {
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
        store.enforce(ofRun?.over(settings ?? RoomLimits()) ?? settings ?? RoomLimits())
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
        let hasDiskRoom = try? await pool.run {
            let limits = store.room.limits
            if isAgeDue, limits.age != nil { _ = try? store.prune(RoomLimits(maxAge: limits.age)) }
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
    }
}
