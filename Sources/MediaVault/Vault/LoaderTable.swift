import VaultModel
import VaultStorage

extension Vault {
    /// Ends all readers and fetches, stops all writes that they would cause, and gives out no loader from now on.
    ///
    /// - Parameters:
    ///   - reason: the error that readers end with.
    ///   - refusal: the error for callers that request a loader.
    func endLoaders(with reason: VaultError, refusing refusal: VaultError) async {
        self.refusal.withLock { $0 = refusal }
        let ended = loaders.withLock { loaders in
            defer { loaders = [:] }
            return loaders.values.map(\.loader)
        }
        for loader in ended { loader.end(with: reason) }
        for loader in ended {
            // A resource whose rows do not open has nothing to write either.
            try? await loader.ready()
            await loader.settle()
            await loader.settleJoining()
            await loader.revalidator.stop()
            try? await pool.run { loader.record.retire() }
        }
    }
}

/// A loader in its vault's table.
struct LoaderEntry {
    let loader: ResourceLoader
    /// The number of leases.
    var uses = 0
    var idleSince = ContinuousClock.now
    /// Whether its resource is being removed: then no more leases are given.
    var isRemoving = false

    /// Whether the resource has readers, or something is fetched or written for it.
    var isInUse: Bool { uses > 0 || isRemoving || !loader.isIdle || loader.joining.withLock(\.isRunning) }
}

/// Keeps a loader in its vault's table while it is used.
final class LoaderLease: Sendable {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}

/// The resources read, with the hour of the last access. Each is written to the index once an hour, so that reading
/// does not write.
struct AccessTimes {
    private static let most = 10_000
    private var hours: [ResourceID: Int64] = [:]
    private var news: Set<ResourceID> = []

    mutating func note(_ id: ResourceID, hour: Int64) {
        guard hours.updateValue(hour, forKey: id) != hour else { return }
        news.insert(id)
        // Forget earlier hours, so that memory is bounded by the resources of one hour.
        if hours.count > Self.most { hours = hours.filter { $0.value == hour } }
    }

    /// Returns ids that could not be written to the index.
    mutating func putBack(_ ids: [ResourceID]) { news.formUnion(ids) }

    /// Takes the ids that have not been written to the index.
    mutating func take() -> [ResourceID] {
        defer { news = [] }
        return Array(news)
    }
}

extension Vault {
    /// Does the periodic work, once a second.
    func keepUp(now: ContinuousClock.Instant) async {
        for loader in loaders.withLock({ $0.values.map(\.loader) }) {
            loader.change { $0.tick(now: now) }
            loader.opened.dropIdle(now: now)
            await loader.tellFreshness()
        }
        loaders.withLock { loaders in
            loaders = loaders.filter { _, entry in
                entry.isInUse || now - entry.idleSince < Self.idleTime
            }
        }
        joinSegments(now: now)
        await keepRoom(now: now)
        resumeKeyWork(now: now)
        let (store, visited) = (store, visits.withLock { $0.take() })
        do {
            try await pool.run {
                try store.touch(visited)
                try store.flushCounters()
                try store.backUpCatalogIfDue(now: now)
            }
        } catch {
            // Failed periodic work is tried again in a second.
            visits.withLock { $0.putBack(visited) }
        }
    }
}
