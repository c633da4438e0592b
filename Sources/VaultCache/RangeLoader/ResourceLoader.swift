import VaultFetch
package import VaultModel
package import VaultStorage

/// Loads one resource for any number of readers.
///
/// Held bytes are opened; gaps are fetched once and shared. ``LoaderState`` makes the decisions under the lock; this
/// class carries them out after unlocking.
package final class ResourceLoader: Sendable {
    package let url: MediaURL
    package let record: ResourceRecord
    package let origin: OriginSession
    package let pages: PageDetection
    let versions: VersionPolicy
    private let environment: LoaderEnvironment
    /// Open readers of recently read segments.
    let opened = SegmentReaderCache()
    /// Serializes the processing of response heads.
    let answers = AsyncLock()
    let joining = Locked(Joining())
    /// The edition whose first bytes were seen to be media; nil if none were.
    private let seenMedia = Locked<Int?>(nil)
    private let guarded: Locked<Guarded>
    private let loading: Task<StoredRepresentation?, any Error>

    private struct Guarded {
        var state: LoaderState
        var tasks: [FetchState.ID: Task<Void, Never>] = [:]
        /// Fetches that ended before their task was recorded.
        var ended: Set<FetchState.ID> = []
        var settling: [Settling] = []
        var isLoaded = false
        var isBroken = false
    }

    /// A caller that waits for certain fetches to end, or for all of them if `fetches` is nil.
    private struct Settling {
        let fetches: Set<FetchState.ID>?
        let waiter: WakeFlag.Waiter

        func isOver(_ running: some Collection<FetchState.ID>) -> Bool {
            fetches.map { $0.isDisjoint(with: running) } ?? running.isEmpty
        }
    }

    init(_ resource: NamedResource, mode: VaultMode, in environment: LoaderEnvironment) {
        url = resource.reference.url
        let origin = OriginSession(
            of: resource, over: environment.origin, refresher: environment.refresher,
            errors: environment.originErrors)
        let record = ResourceRecord(
            id: resource.id, key: resource.key, store: environment.store, imports: environment.imports)
        (self.origin, self.record, self.environment) = (origin, record, environment)
        pages = PageDetection(url: url)
        versions = VersionPolicy(url: url, hasContentID: resource.key.contentID != nil, names: environment.names)
        guarded = Locked(Guarded(state: LoaderState(mode: mode, retry: environment.retry)))
        loading = Task { [pool = environment.pool] in
            try await pool.run {
                let serving = try record.load()
                record.source.map { origin.urls.recall($0) }
                return serving
            }
        }
    }

    /// Waits until the loader has loaded its state from the index.
    ///
    /// - Throws: the error from reading the index, after which the loader is broken.
    package func ready() async throws {
        let serving: StoredRepresentation?
        do {
            serving = try await loading.value
        } catch {
            noteBroken()
            throw error
        }
        takeOver(serving)
    }

    // Never inlined into the async function, for the reason that `Locked` states.
    @inline(never)
    private func noteBroken() { guarded.withLock { $0.isBroken = true } }

    @inline(never)
    private func takeOver(_ serving: StoredRepresentation?) {
        guarded.withLock { guarded in
            guard !guarded.isLoaded else { return }
            guarded.isLoaded = true
            if let serving { guarded.state.known.load(serving) }
            guarded.state.known.isPinned = record.isPinned
            _ = guarded.state.setMode(own: record.mode)
        }
    }

    package var store: VaultStore { environment.store }
    package var pool: BlockingPool { environment.pool }
    package var playbackPriority: PlaybackPriority { environment.playbackPriority }
    package var names: ResourceNames { environment.names }
    package var retryPolicy: RetryPolicy { environment.retry }
    var manifestSemaphore: ManifestSemaphore { environment.manifestSemaphore }

    // MARK: State

    /// Changes the state under the lock, then carries out the effects.
    @discardableResult
    func change<Result>(_ body: (inout LoaderState) -> (Result, Effects)) -> Result {
        let (result, effects, cancelled) = guarded.withLock { guarded in
            let (result, effects) = body(&guarded.state)
            return (result, effects, effects.cancelled.compactMap { guarded.tasks[$0] })
        }
        for waiter in effects.waiters { waiter.resume() }
        for task in cancelled { task.cancel() }
        if effects.passedThrough > 0 { store.work.passedThrough.count(effects.passedThrough) }
        for (reader, time) in effects.alarms { wake(reader, at: time) }
        return result
    }

    /// Changes the state under the lock without a result, then carries out the effects.
    func change(_ body: (inout LoaderState) -> Effects) {
        change { state in ((), body(&state)) }
    }

    /// Changes the state under the lock, in a way that has no effects.
    func update<Result>(_ body: (inout LoaderState) -> Result) -> Result { guarded.withLock { body(&$0.state) } }

    /// Reads the state under the lock.
    func look<Result>(_ body: (LoaderState) -> Result) -> Result { guarded.withLock { body($0.state) } }

    /// Waits for one of the state's flags, unless it is already raised.
    func wait(_ begin: (inout LoaderState, WakeFlag.Waiter) -> Bool) async {
        await withCheckedContinuation { waiter in
            let isWaiting = guarded.withLock { begin(&$0.state, waiter) }
            if !isWaiting { waiter.resume() }
        }
    }

    /// Whether there are no readers, no fetches, and no revalidation.
    package var isIdle: Bool {
        guarded.withLock { $0.state.readers.isEmpty && $0.state.fetches.isEmpty && $0.tasks.isEmpty }
            && !origin.revalidator.isRunning
    }

    /// Whether a fetch is running, or received bytes are still being sealed.
    var isFetching: Bool { guarded.withLock { !$0.state.fetches.isEmpty || !$0.tasks.isEmpty } }

    /// Whether an active fetch stores its bytes.
    package var isStoring: Bool { look { $0.fetches.values.contains { $0.isActive && $0.isStoring } } }

    /// Whether the index could not be read. The next request then uses another loader.
    var isBroken: Bool { guarded.withLock { $0.isBroken } }

    /// Whether the first bytes of the representation were seen to be media.
    package var hasSeenMedia: Bool {
        guard let seen = seenMedia.withLock({ $0 }) else { return false }
        return look { $0.readers.edition == seen }
    }

    /// Records that a reader's first bytes are media.
    func noteMedia(_ reader: ReaderState.ID) {
        guard let edition = look({ $0.readers[reader]?.edition }) else { return }
        seenMedia.withLock { $0 = edition }
    }

    /// Makes the next request ask the origin for the whole resource, because what is held is unusable.
    ///
    /// - Returns: false if the mode forbids requests.
    package func forgetUnusable() -> Bool {
        change { state in state.mode.allowsRequests ? (true, state.forget()) : (false, Effects()) }
    }

    // MARK: Readers

    /// Returns what a reader does next, and starts a fetch if one is needed.
    func step(_ reader: ReaderState.ID) -> LoaderState.Step {
        let step = change { $0.step(reader, now: .now) }
        if case .fetch(let id) = step {
            start(id)
            return .wait
        }
        return step
    }

    /// Waits until a reader is woken.
    ///
    /// - Throws: `CancellationError` if the task was cancelled.
    func waitForWake(_ reader: ReaderState.ID) async throws {
        try Task.checkCancellation()
        await withTaskCancellationHandler {
            await wait { state, waiter in state.readers[reader]?.signal.wait(waiter) ?? false }
        } onCancel: {
            change { $0.readers.wake(reader) }
        }
        try Task.checkCancellation()
    }

    /// Waits for a player's bytes while downloads yield to the player.
    func waitAsPlayer(_ reader: ReaderState.ID) async throws {
        try await playbackPriority.waiting(at: origin.urls.current.url.origin) { try await waitForWake(reader) }
    }

    /// Wakes a reader at a given time, so that it decides again what to do.
    func wake(_ reader: ReaderState.ID, at time: ContinuousClock.Instant) {
        Task { [weak self] in
            try? await Task.sleep(until: time)
            self?.change { $0.readers.wake(reader) }
        }
    }

    /// Forgets a length that is unconfirmed because it came from HEAD, so that the origin is asked for the range
    /// itself.
    ///
    /// A length counts as unconfirmed if it is above 0 and no byte is present or being fetched.
    ///
    /// - Returns: false if nothing was forgotten.
    func forgetUnconfirmedLength() -> Bool {
        change { state in
            let isHearsay = state.known.information?.length ?? 0 > 0 && state.present.isEmpty && state.fetches.isEmpty
            return isHearsay && state.mode.allowsRequests ? (true, state.forget()) : (false, Effects())
        }
    }

    // MARK: Segments

    /// Turns a segment's unreadable bytes into a gap, in the loader's state and in the index.
    package func invalidate(_ segment: SegmentDescription, for failure: SegmentFailure) async {
        drop(segment.id, for: failure)
        let store = store
        // Even if the index cannot be updated, the bytes are not served, because the next reader finds the same
        // failure.
        try? await pool.run { try store.segments.invalidate(segment, for: failure) }
        store.changes.note(record.id)
        environment.damage.note(record.id)
    }

    /// Turns a segment's unreadable bytes into a gap, in the loader's state alone.
    package func drop(_ segment: SegmentID, for failure: SegmentFailure) {
        update { $0.known.invalidate(segment, for: failure) }
        opened.drop(segment)
    }

    /// Adds a segment that the index already has, in place of what the loader knew under its id.
    package func put(_ segment: SegmentDescription) {
        update { state in
            state.known.map.remove(segment.id, isDamaged: false)
            state.known.map.put(segment)
        }
    }

    /// Returns whether a closed segment can be replaced. It can if the loader knows the segment at this length, or if
    /// no fetch is running, but not while segments are being joined, because the index may then name a segment that the
    /// loader does not know yet.
    package func canReplace(_ segment: SegmentDescription) -> Bool {
        guard !joining.withLock(\.isRunning) else { return false }
        return look { $0.known.map.length(of: segment.id) == segment.length } || !isFetching
    }

    /// Redirects readers to new segments with the same bytes. A reader that uses an old segment either still has it
    /// open or looks up its position again.
    package func exchange(_ old: [SegmentDescription], for new: [SegmentDescription]) {
        update { $0.known.map.exchange(old.map(\.id), for: new) }
        for segment in old { opened.drop(segment.id) }
    }

    /// Records whether the resource is pinned.
    package func note(isPinned: Bool) { update { $0.known.isPinned = isPinned } }

    /// Does the periodic work for the resource. It is called once a second.
    package func tick(now: ContinuousClock.Instant) async {
        change { $0.tick(now: now) }
        opened.dropIdle(now: now)
        await writeFreshness()
    }

    // MARK: Fetches

    private func start(_ id: FetchState.ID) {
        let fetch = Fetch(id: id, loader: self)
        let task = Task {
            await fetch.run()
            ended(id)
        }
        // The fetch may have ended, or been told to end, between the decision to start it and this line.
        let isUnwanted = guarded.withLock { guarded in
            guard !guarded.ended.contains(id) else {
                guarded.ended.remove(id)
                return false
            }
            guarded.tasks[id] = task
            return guarded.state.fetches[id].map { $0.phase == .released } ?? true
        }
        if isUnwanted { task.cancel() }
    }

    private func ended(_ id: FetchState.ID) {
        let settled = guarded.withLock { guarded in
            if guarded.tasks.removeValue(forKey: id) == nil { guarded.ended.insert(id) }
            let running = guarded.tasks.keys
            let settled = guarded.settling.filter { $0.isOver(running) }
            guarded.settling.removeAll { $0.isOver(running) }
            return settled
        }
        for settling in settled { settling.waiter.resume() }
    }

    /// Waits until fetches have ended, and everything that they received is sealed and committed.
    ///
    /// - Parameter fetches: the fetches to wait for; nil for all.
    package func settle(_ fetches: Set<FetchState.ID>? = nil) async {
        await withCheckedContinuation { waiter in
            let settling = Settling(fetches: fetches, waiter: waiter)
            let isOver = guarded.withLock { guarded in
                let isOver = settling.isOver(guarded.tasks.keys)
                if !isOver { guarded.settling.append(settling) }
                return isOver
            }
            if isOver { waiter.resume() }
        }
    }

    /// Ends all readers and fetches, keeping the received bytes. ``settle(_:)`` waits until this is done.
    package func close() { end(with: VaultError.vaultClosed) }

    /// Ends all readers with an error, and all fetches, keeping the received bytes.
    ///
    /// ``settle(_:)`` waits until this is done.
    func end(with error: VaultError) {
        change { $0.end(with: error) }
        opened.close()
    }
}
