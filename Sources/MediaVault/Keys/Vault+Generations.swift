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
        try await changingKeys("rotate") { store, place in
            _ = try store.addGeneration(at: place)
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
        try await changingKeys("retire") { store, place in
            do {
                try store.retire(number, at: place)
            } catch let error as VaultError where error.code == .inUse {
                throw GenerationNeeds.naming(number, in: store, error)
            }
            return try KeyReport(store, act: nil)
        }
    }

    /// Does an act on the keys, while no other does. What it does to the store runs where it may block.
    func changingKeys<Result: Sendable>(
        _ act: String, _ body: @escaping @Sendable (VaultStore, KeyringPlace) throws -> Result
    ) async throws -> Result {
        try requireKeyOwner()
        let (store, place) = (store, keyringPlace)
        return try await keyWork.exclusively(act) {
            try await pool.run { try body(store, place) }
        }
    }

    /// - Throws: ``VaultError`` with code `owned` where this process may not change the vault.
    func requireKeyOwner() throws {
        guard store.isOwner else {
            throw VaultError(.owned, "only the owner of a vault changes its keys; open it as the owner")
        }
    }

    /// Goes on with the end of generations that the owner before this one had decided.
    func finishRetiring() {
        guard (try? store.isTurning()) == true else { return }
        // What fails is finished by the next owner, or by keys retire: keys list tells that it is not.
        _ = chores.begin { [self] in
            _ = try? await changingKeys("retire") { store, place in try store.finishTurn(at: place) }
        }
    }

    /// Wraps every resource key anew, a transaction at a time, so that whoever plays has their turn between.
    func rewrap(_ tell: (RewrapProgress) -> Void) async throws {
        try requireKeyOwner()
        let store = store
        try await keyWork.exclusively("rewrap") {
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
            try await pool.run { try store.finishRewrap() }
            let report = RewrapReport(
                generation: store.keyring.currentGeneration, keys: rewrap.done, unopened: rewrap.unopened)
            tell(RewrapProgress(keys: rewrap.done, total: rewrap.total, report: report))
        }
    }
}
