import VaultModel
import VaultStorage

extension Vault {
    /// Ends all readers and fetches, lets nothing write by what it has learned, and gives nobody a loader from now on.
    ///
    /// - Parameters:
    ///   - reason: what readers end with.
    ///   - refusal: what those are told who ask for a loader.
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
    /// How many hold a lease.
    var uses = 0
    var idleSince = ContinuousClock.now
    /// Whether its resource is being removed: nobody gets a lease any more.
    var isRemoving = false

    /// Whether somebody reads it, or something is fetched or written for it.
    var isInUse: Bool { uses > 0 || isRemoving || !loader.isIdle || loader.joining.withLock(\.isRunning) }
}

/// Keeps a loader in its vault's table as long as somebody uses it.
final class LoaderLease: Sendable {
    private let release: @Sendable () -> Void

    init(release: @escaping @Sendable () -> Void) { self.release = release }

    deinit { release() }
}

/// Which resources were read and in which hour: told to the index once an hour each, so that reading does not write.
struct AccessTimes {
    private static let most = 10_000
    private var hours: [ResourceID: Int64] = [:]
    private var news: Set<ResourceID> = []

    mutating func note(_ id: ResourceID, hour: Int64) {
        guard hours.updateValue(hour, forKey: id) != hour else { return }
        news.insert(id)
        // Hours that are over are forgotten, so that what is kept is bounded by what one hour brings.
        if hours.count > Self.most { hours = hours.filter { $0.value == hour } }
    }

    /// Takes back what the index could not be told.
    mutating func putBack(_ ids: [ResourceID]) { news.formUnion(ids) }

    /// What the index has not been told.
    mutating func take() -> [ResourceID] {
        defer { news = [] }
        return Array(news)
    }
}

extension Vault {
    /// Does what is due once in a second.
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
            // Upkeep that fails is tried again in a second.
            visits.withLock { $0.putBack(visited) }
        }
    }
}
