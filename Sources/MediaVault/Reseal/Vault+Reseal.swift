import VaultModel
import VaultStorage

extension Vault {
    /// Gives resources new keys, and seals every segment of them anew: for when a resource key may have leaked.
    ///
    /// Those go first whose risk is newest: what was begun and broken off; then what the oldest generation wraps; of
    /// those what was read last, because its key was in memory last. It needs room for one segment. Playing goes on.
    ///
    /// It does not help against somebody who has a copy of the old segments and their key, and not while the keyring
    /// that wraps the new keys is known: rotate, rewrap and retire first.
    ///
    /// - Parameters:
    ///   - references: what is sealed anew; all that the vault holds where there is none.
    ///   - bytesPerSecond: the most plaintext bytes in a second; nil is as fast as it goes.
    public func reseal(_ references: [MediaReference] = [], bytesPerSecond: Int64? = nil) -> Reseal {
        Reseal(vault: self, references: references, bytesPerSecond: bytesPerSecond)
    }

    func reseal(
        _ references: [MediaReference], bytesPerSecond: Int64?, tell: @escaping (ResealProgress) -> Void
    ) async throws {
        try requireOwner(to: "seals it anew")
        guard bytesPerSecond ?? 1 > 0 else {
            throw VaultError(.invalidArgument, "a rate is at least one byte in a second")
        }
        var resources: [ResourceID] = []
        for reference in references {
            let (store, id) = (store, try await name(reference).id)
            guard try await pool.run({ try store.index.hasResource(id) }) else { throw Self.unknown(reference) }
            resources.append(id)
        }
        let (named, wanted) = (resources, references.isEmpty ? nil : Set(resources))
        try await keyWork.exclusively(.reseal) {
            let (store, log) = (store, auditLog)
            let order = try await pool.run {
                try store.orderReseal(of: wanted, bytesPerSecond: bytesPerSecond, noting: log)
            }
            let subjects = named.compactMap { log.subject(of: $0) }
            var resealer = Resealer(vault: self, order: order, subjects: subjects, tell: tell)
            try await resealer.run()
        }
    }

    /// Goes on with a reseal that was broken off; nothing happens where there is none.
    func resumeReseal() async throws {
        let store = store
        guard let order = try await pool.run({ try store.index.settings().resealOrder }) else { return }
        try await keyWork.yielding(.reseal) {
            var resealer = Resealer(vault: self, order: order) { _ in }
            try await resealer.run()
        }
    }
}
