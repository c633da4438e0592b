import VaultModel
import VaultStorage

extension Vault {
    /// Goes on with what an owner before this one left undone of acts on the keys: shreds first, then a reseal. Begins a
    /// moment after the vault was opened: a command that is done before leaves it to the next. An act that is asked for
    /// comes before a reseal that is gone on with.
    func resumeKeyWork(now: ContinuousClock.Instant) {
        guard resumption.withLock({ $0.begins(now: now) }) else { return }
        _ = chores.begin { [weak self] in
            guard let self else { return }
            do {
                try Task.checkCancellation()
                let store = store
                // Nobody is kept from the keys for a look.
                if let act = try await pool.run({ try store.unfinishedAct() }) {
                    try await keyWork.exclusively(act) { _ = try await self.finishShreds() }
                }
                try await resumeReseal()
                resumption.withLock { $0.finish() }
            } catch let error where error is CancellationError || (error as? VaultError)?.code == .busy {
                resumption.withLock { $0.giveWay() }
            } catch {
                // Whoever acts on the keys next is told why.
                resumption.withLock { $0.fail(now: .now) }
            }
        }
    }
}
