import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// Rewraps every resource key, in small transactions so that playback is not blocked.
struct RewrapOperation: Sendable {
    let environment: KeyOperationEnvironment

    func run(_ tell: (RewrapProgress) -> Void) async throws {
        try environment.store.requireOwner(to: "changes its keys")
        let (store, log) = (environment.store, environment.log)
        try await environment.lock.exclusively(.rewrap) {
            var rewrap = try await environment.pool.run { try Generations(store).rewrap() }
            tell(RewrapProgress(keys: 0, total: rewrap.total, report: nil))
            var isUnfinished = true
            while isUnfinished {
                try Task.checkCancellation()
                let step = rewrap
                (rewrap, isUnfinished) = try await environment.pool.run {
                    var step = step
                    let isUnfinished = try step.step()
                    return (step, isUnfinished)
                }
                tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: nil))
            }
            let (outcome, resources) = (rewrap.outcome, Int64(rewrap.resources))
            try await environment.pool.run {
                try Generations(store).finishRewrap()
                try log.note(.rewrap, outcome: outcome, resources: resources)
            }
            let current = environment.store.keyring.currentGeneration
            let report = RewrapReport(
                generation: current, keys: rewrap.done, unopened: rewrap.unopened,
                older: environment.store.keyring.activeGenerations.filter { $0 != current })
            tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: report))
        }
    }
}
