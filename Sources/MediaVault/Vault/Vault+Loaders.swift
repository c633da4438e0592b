import VaultModel

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
