import Synchronization
import VaultModel
import VaultStorage

extension Vault {
    /// Goes on with what an owner before this one left undone of acts on the keys: shreds first, then a reseal. Asked
    /// once, a moment after the vault was opened: a command that is done before leaves it to the next.
    func resumeKeyWork() {
        let isFirst = hasResumed.withLock { hasResumed in
            defer { hasResumed = true }
            return !hasResumed
        }
        guard isFirst else { return }
        _ = chores.begin { [weak self] in
            // What fails is left for the next act, which says why.
            guard let self else { return }
            _ = try? await keyWork.exclusively("shred") { try await self.finishShreds() }
            try? await resumeReseal()
        }
    }
}
