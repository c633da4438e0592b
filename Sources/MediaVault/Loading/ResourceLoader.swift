import VaultFetch
import VaultModel
import VaultStorage

/// Loads one resource for any number of readers: what is held is opened, gaps are fetched once and shared.
///
/// Decisions are ``LoaderState``'s, taken under the lock; what they ask for is done here, after it.
final class ResourceLoader: Sendable {
    let url: MediaURL
    let record: ResourceRecord
    let store: VaultStore
    let origin: any Origin
    let pool: BlockingPool
    let precedence: PlaybackPriority
    /// Where the resource's bytes can be asked for; ``url`` is what it is called.
    let addresses: AddressBook
    let names: ResourceNames
    /// Segments that are read again and again.
    let opened = OpenSegments()
    /// Lets one answer's head at a time be taken in.
    let answers = AsyncLock()
    let contact = OriginReachability()
    let revalidator = Revalidator()
    let joining = Locked(Joining())
    private let guarded: Locked<Guarded>
    private let loading: Task<StoredRepresentation?, any Error>

    private struct Guarded {
        var state: LoaderState
        var tasks: [FetchState.ID: Task<Void, Never>] = [:]
        /// Fetches that ended before their task was noted.
        var ended: Set<FetchState.ID> = []
        var settling: [Settling] = []
        var isLoaded = false
        var isBroken = false
    }

    /// Somebody who waits for fetches to be over: for some, or for all.
    private struct Settling {
        let fetches: Set<FetchState.ID>?
        let waiter: WakeFlag.Waiter

        func isOver(_ running: some Collection<FetchState.ID>) -> Bool {
            fetches.map { $0.isDisjoint(with: running) } ?? running.isEmpty
        }
    }

    init(
        _ reference: MediaReference, id: ResourceID, key: CacheKey, names: ResourceNames, store: VaultStore,
        origin: any Origin, mode: VaultMode, retry: RetryPolicy, pool: BlockingPool, precedence: PlaybackPriority
    ) {
        url = reference.url
        let addresses = AddressBook(reference)
        self.addresses = addresses
        self.names = names
        self.store = store
        self.origin = origin
        self.pool = pool
        self.precedence = precedence
        let record = ResourceRecord(id: id, key: key, store: store)
        self.record = record
        guarded = Locked(Guarded(state: LoaderState(mode: mode, retry: retry)))
        loading = Task {
            try await pool.run {
                let serving = try record.load()
                record.source.map { addresses.recall($0) }
                return serving
            }
        }
    }

    /// Returns once what the index says is taken over.
    func ready() async throws {
        let serving: StoredRepresentation?
        do {
            serving = try await loading.value
        } catch {
            noteBroken()
            throw error
        }
        takeOver(serving)
    }

    // Swift 6.3 for Linux, where it puts the taking of a lock into an async function, may take it in the name of the thread
    // that the function was on before: then it cannot be given back.
    @inline(never)
    private func noteBroken() { guarded.withLock { $0.isBroken = true } }

    @inline(never)
    private func takeOver(_ serving: StoredRepresentation?) {
        guarded.withLock { guarded in
            guard !guarded.isLoaded else { return }
            guarded.isLoaded = true
            if let serving { guarded.state.load(serving) }
            guarded.state.isPinned = record.isPinned
            _ = guarded.state.setMode(own: record.mode)
        }
    }

    // MARK: State

    /// Changes the state under the lock, and does what follows after it.
    @discardableResult
    func change<Result>(_ body: (inout LoaderState) -> (Result, Effects)) -> Result {
        let (result, effects, cancelled) = guarded.withLock { guarded in
            let (result, effects) = body(&guarded.state)
            return (result, effects, effects.cancelled.compactMap { guarded.tasks[$0] })
        }
        for waiter in effects.waiters { waiter.resume() }
        for task in cancelled { task.cancel() }
        if effects.passedThrough > 0 { store.countPassedThrough(effects.passedThrough) }
        for (reader, time) in effects.alarms { wake(reader, at: time) }
        return result
    }

    /// The same for changes without a result.
    func change(_ body: (inout LoaderState) -> Effects) {
        change { state in ((), body(&state)) }
    }

    /// Looks at the state.
    func look<Result>(_ body: (LoaderState) -> Result) -> Result { guarded.withLock { body($0.state) } }

    /// Waits for a signal of the state's, unless it was raised meanwhile.
    func wait(_ begin: (inout LoaderState, WakeFlag.Waiter) -> Bool) async {
        await withCheckedContinuation { waiter in
            let isWaiting = guarded.withLock { begin(&$0.state, waiter) }
            if !isWaiting { waiter.resume() }
        }
    }

    /// Whether nobody reads, nothing is being fetched, and the origin is not being asked.
    var isIdle: Bool {
        guarded.withLock { $0.state.readers.isEmpty && $0.state.fetches.isEmpty && $0.tasks.isEmpty }
            && !revalidator.isRunning
    }

    /// Whether something is being fetched, or what came is still being sealed.
    var isFetching: Bool { guarded.withLock { !$0.state.fetches.isEmpty || !$0.tasks.isEmpty } }

    /// Whether the index could not be read: the next who asks begins with another loader.
    var isBroken: Bool { guarded.withLock { $0.isBroken } }

    /// Whether nothing is fetched.
    var isOffline: Bool { look { !$0.mode.asksOrigins } }

    // MARK: Readers

    /// What a reader does next; a fetch that this asks for is started.
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
    /// - Throws: `CancellationError` where the task was cancelled.
    func waitForWake(_ reader: ReaderState.ID) async throws {
        try Task.checkCancellation()
        await withTaskCancellationHandler {
            await wait { state, waiter in state.wait(reader, waiter) }
        } onCancel: {
            change { $0.wake(reader) }
        }
        try Task.checkCancellation()
    }

    /// What reading a segment failed with makes a gap, here and in the index.
    func condemn(_ segment: SegmentDescription, for failure: SegmentFailure) async {
        guarded.withLock { $0.state.condemn(segment.id, for: failure) }
        opened.drop(segment.id)
        let store = store
        // The bytes are not served whether or not the index could be told; the next reader finds the same.
        try? await pool.run { try store.condemn(segment, for: failure) }
        store.changes.note(record.id)
    }

    // MARK: Fetches

    private func start(_ id: FetchState.ID) {
        let fetch = Fetch(id: id, loader: self)
        let task = Task {
            await fetch.run()
            ended(id)
        }
        // It may have ended, or been let go, between the decision and this line.
        let isUnwanted = guarded.withLock { guarded in
            guard !guarded.ended.contains(id) else {
                guarded.ended.remove(id)
                return false
            }
            guarded.tasks[id] = task
            return guarded.state.fetches[id]?.isLetGo ?? true
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

    /// Returns once none of these fetches runs, or none at all, and everything they brought is sealed and committed.
    func settle(_ fetches: Set<FetchState.ID>? = nil) async {
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

    /// Ends every fetch, keeping what came, and every reader. ``settle(_:)`` says when it is done.
    func close() { end(with: VaultError.vaultClosed) }

    /// Ends every fetch, keeping what came, and every reader with an error. ``settle(_:)`` says when it is done.
    func end(with error: VaultError) {
        change { $0.end(with: error) }
        opened.close()
    }

    // MARK: Origin

    /// Notes what a fetch learned about the origin.
    func noteContact(isReachable: Bool) { contact.note(isReachable: isReachable, now: .now) }
}
