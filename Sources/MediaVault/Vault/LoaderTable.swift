import VaultModel
import VaultStorage

/// The loaders of a vault: one for each resource in use, kept for a while after its last use.
final class LoaderTable: Sendable {
    private struct Entry {
        let loader: ResourceLoader
        /// The number of leases.
        var uses = 0
        var idleSince = ContinuousClock.now
        /// Whether its resource is being removed: then no more leases are given.
        var isRemoving = false

        /// Whether the resource has readers, or something is fetched or written for it.
        var isInUse: Bool { uses > 0 || isRemoving || !loader.isIdle || loader.joining.withLock(\.isRunning) }
    }

    private struct State {
        var entries: [ResourceID: Entry] = [:]
        /// The error for callers that request a loader; nil if loaders are given out.
        var refusal: VaultError?
    }

    let environment: LoaderEnvironment
    private let answers: AnswerLog
    private let state = Locked(State())

    /// How long an unused loader is kept.
    private static let idleTime: Duration = .seconds(60)

    /// - Parameter answers: records where the bytes of ended readers came from.
    init(_ environment: LoaderEnvironment, answers: AnswerLog) {
        self.environment = environment
        self.answers = answers
    }

    /// All loaders.
    var all: [ResourceLoader] { state.withLock { $0.entries.values.map(\.loader) } }

    /// The resources that have readers, or for which something is fetched or written.
    var resourcesInUse: Set<ResourceID> { state.withLock { Set($0.entries.filter(\.value.isInUse).keys) } }

    // MARK: Use

    /// Returns the loader of a resource if the resource is in use, or was used recently.
    func loader(of id: ResourceID) -> ResourceLoader? { state.withLock { $0.entries[id]?.loader } }

    /// Returns the loader of a resource if there is one that may be used, and keeps it for longer.
    func loaderInUse(_ id: ResourceID) -> ResourceLoader? {
        state.withLock { state in
            guard let entry = state.entries[id], !entry.isRemoving, !entry.loader.isBroken else { return nil }
            state.entries[id]?.idleSince = .now
            return entry.loader
        }
    }

    /// Returns the loader of a resource, which all its users share.
    ///
    /// - Parameter mode: the vault's mode, for a new loader; read under the lock, so that no change of mode misses it.
    func use(_ resource: NamedResource, mode: @autoclosure () -> VaultMode) throws -> (ResourceLoader, LoaderLease) {
        let id = resource.id
        let loader = try state.withLock { state in
            if let refusal = state.refusal { throw refusal }
            // An id computed before the locator was changed is no longer valid.
            guard resource.locator == environment.store.index.locator else { throw Vault.renaming }
            if let entry = state.entries[id], entry.isRemoving { throw ResourceRecord.removed }
            var entry =
                state.entries[id].flatMap { $0.loader.isBroken ? nil : $0 }
                ?? Entry(loader: ResourceLoader(resource, mode: mode(), in: environment))
            entry.uses += 1
            state.entries[id] = entry
            return entry.loader
        }
        loader.addresses.give(resource.reference)
        return (loader, LoaderLease { [weak self, weak loader] in self?.release(id, loader) })
    }

    private func release(_ id: ResourceID, _ loader: ResourceLoader?) {
        if let traces = loader?.change({ ($0.takeTraces(), Effects()) }), !traces.isEmpty {
            answers.note(traces, of: id, at: environment.store.now())
        }
        state.withLock { state in
            // Another loader may have taken its place.
            guard let entry = state.entries[id], entry.loader === loader else { return }
            state.entries[id]?.uses -= 1
            state.entries[id]?.idleSince = .now
        }
    }

    /// Starts joining a resource's segments, unless the resource is being removed or now has another loader.
    func beginJoining(_ id: ResourceID, _ loader: ResourceLoader, now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[id], entry.loader === loader, !entry.isRemoving else { return false }
            loader.joining.withLock { $0.begin(now: now) }
            return true
        }
    }

    /// All loaders, each with whether it has been idle for so long.
    func resting(for time: Duration, now: ContinuousClock.Instant) -> [(ResourceID, ResourceLoader, isResting: Bool)] {
        state.withLock { state in
            state.entries.map { ($0, $1.loader, isResting: !$1.isInUse && now - $1.idleSince >= time) }
        }
    }

    // MARK: Removal

    /// Marks a resource as being removed: no more leases are given.
    func beginRemoving(_ id: ResourceID) { state.withLock { $0.entries[id]?.isRemoving = true } }

    /// Removes a loader from the table; the next user reads the index again.
    func remove(_ id: ResourceID) { state.withLock { $0.entries[id] = nil } }

    /// Removes a loader from the table unless it is in use.
    ///
    /// - Returns: whether there is none now.
    func removeIfIdle(_ id: ResourceID) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[id] else { return true }
            guard !entry.isInUse else { return false }
            state.entries[id] = nil
            return true
        }
    }

    /// Removes the loaders that have been idle for a minute.
    func removeIdle(now: ContinuousClock.Instant) {
        state.withLock { state in
            state.entries = state.entries.filter { _, entry in
                entry.isInUse || now - entry.idleSince < Self.idleTime
            }
        }
    }

    /// Ends all readers and fetches, stops all writes that they would cause, and gives out no loader from now on.
    ///
    /// - Parameters:
    ///   - reason: the error that readers end with.
    ///   - refusal: the error for callers that request a loader.
    func end(with reason: VaultError, refusing refusal: VaultError) async {
        let ended = refuse(refusal)
        for loader in ended { loader.end(with: reason) }
        for loader in ended {
            // A resource whose rows do not open has nothing to write either.
            try? await loader.ready()
            await loader.settle()
            await loader.settleJoining()
            await loader.revalidator.stop()
            try? await environment.pool.run { loader.record.retire() }
        }
    }

    /// Removes all loaders from the table, and returns them; gives out none from now on.
    @discardableResult
    func refuse(_ refusal: VaultError) -> [ResourceLoader] {
        state.withLock { state in
            defer { state.entries = [:] }
            state.refusal = refusal
            return state.entries.values.map(\.loader)
        }
    }

    /// Gives out loaders again.
    func resume() { state.withLock { $0.refusal = nil } }
}

/// What all loaders of a vault share.
struct LoaderEnvironment: Sendable {
    let store: VaultStore
    let origin: any Origin
    let names: ResourceNames
    let retry: RetryPolicy
    let pool: BlockingPool
    let playbackPriority: PlaybackPriority
}

/// Keeps a loader in its vault's table while it is used.
final class LoaderLease: Sendable {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}
