import VaultCrypto
import VaultModel
import VaultStorage

// The life of generations: made, moved to, destroyed.
extension Vault {
    /// How the keys stand: what needs which generation, and how far an act is that was not finished.
    ///
    /// - Throws: ``VaultError`` where the index cannot be read.
    public func keyReport() async throws -> KeyReport {
        let (store, act) = (store, keyWork.act)
        return try await pool.run { try KeyReport(store, act: act) }
    }

    /// Makes a new generation, which new resources use from now on. What is held stays under the older ones until it is
    /// rewrapped.
    ///
    /// - Returns: how the keys stand now: what the older ones still open.
    /// - Throws: ``VaultError`` with code `busy` where another act works on the keys, `owned` where this is not the
    ///   owner, `storage` or `diskFull` where keyring or index cannot be written.
    public func rotateKeys() async throws -> KeyReport {
        try await changingKeys(.rotate) { store, log in
            _ = try store.addGeneration(noting: log)
            return try KeyReport(store, act: nil)
        }
    }

    /// Wraps every resource key anew under the current generation; see ``Rewrapping``.
    public func rewrapKeys() -> Rewrapping { Rewrapping(vault: self) }

    /// Destroys the key of a generation that nothing needs any more. One that is gone already stays gone.
    ///
    /// - Returns: how the keys stand now: the proof that it is gone, and nothing needs it.
    /// - Throws: ``VaultError`` with code `inUse` where something needs it, with what; `invalidArgument` where there is
    ///   none of this number; `storage` where the index's log cannot be emptied, and the key is still there; `busy`,
    ///   `owned`.
    public func retireGeneration(_ number: Int) async throws -> KeyReport {
        try await changingKeys(.retire) { store, log in
            do {
                try store.retire(number, noting: log)
            } catch let error as VaultError where error.code == .inUse {
                throw GenerationNeeds.naming(number, in: store, error)
            }
            return try KeyReport(store, act: nil)
        }
    }

    /// Does an act on the keys, while no other does. What it does to the store, and the receipt for it, are written where
    /// that may block.
    func changingKeys<Result: Sendable>(
        _ act: Receipt.Act, _ body: @escaping @Sendable (VaultStore, AuditLog) throws -> Result
    ) async throws -> Result {
        try requireOwner(to: "changes its keys")
        let (store, log) = (store, auditLog)
        return try await keyWork.exclusively(act) {
            try await pool.run { try body(store, log) }
        }
    }

    /// Wraps every resource key anew, a transaction at a time, so that whoever plays has their turn between.
    func rewrap(_ tell: (RewrapProgress) -> Void) async throws {
        try requireOwner(to: "changes its keys")
        let (store, log) = (store, auditLog)
        try await keyWork.exclusively(.rewrap) {
            var rewrap = try await pool.run { try store.rewrap() }
            tell(RewrapProgress(keys: 0, total: rewrap.total, report: nil))
            var isUnfinished = true
            while isUnfinished {
                try Task.checkCancellation()
                let step = rewrap
                (rewrap, isUnfinished) = try await pool.run {
                    var step = step
                    let isUnfinished = try step.step()
                    return (step, isUnfinished)
                }
                tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: nil))
            }
            let (outcome, resources) = (rewrap.outcome, Int64(rewrap.resources))
            try await pool.run {
                try store.finishRewrap()
                try log.note(.rewrap, outcome: outcome, resources: resources)
            }
            let current = store.keyring.currentGeneration
            let report = RewrapReport(
                generation: current, keys: rewrap.done, unopened: rewrap.unopened,
                older: store.keyring.activeGenerations.filter { $0 != current })
            tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: report))
        }
    }
}
