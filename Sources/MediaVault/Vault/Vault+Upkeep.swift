import VaultModel
import VaultStorage

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
