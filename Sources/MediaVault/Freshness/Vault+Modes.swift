import VaultModel
import VaultStorage

// What may be asked of origins, and what is kept.
extension Vault {
    /// The mode in force: that of the run, else that of the settings, else ``VaultMode/online``.
    public var mode: VaultMode { modeOfRun ?? modeOfSettings.withLock(\.self) ?? .online }

    /// The mode that the vault's settings name; nil where they name none.
    public func modeSetting() async throws -> VaultMode? {
        let store = store
        return try await pool.run { try store.index.settings().mode }.flatMap { VaultMode(rawValue: $0) }
    }

    /// Writes a mode into the vault's settings, or takes it out. It counts at once, unless the run has one of its own.
    ///
    /// - Throws: ``VaultError`` where it cannot be written; with code `owned` where this is not the owner.
    public func setMode(_ mode: VaultMode?) async throws {
        try await changeSettings(mode: .some(mode))
    }

    /// Takes over the mode that the settings name by now.
    func use(_ mode: VaultMode?) async {
        modeOfSettings.withLock { $0 = mode }
        let inForce = self.mode
        for loader in loaders.withLock({ $0.values.map(\.loader) }) {
            loader.change { $0.setMode(vault: inForce) }
            await loader.storeAgain()
        }
    }

    /// The mode that a resource has for itself; nil where it has the vault's.
    public func mode(of reference: MediaReference) async throws -> VaultMode? {
        try await summary(of: reference)?.mode
    }

    /// Gives a resource a mode of its own, or takes it back. It counts at once, for readers that have begun too, and
    /// goes with the resource. The vault's own counts where that forbids more: see ``VaultMode``.
    ///
    /// - Throws: ``VaultError`` where it cannot be written; with code `owned` where this is not the owner.
    public func setMode(_ mode: VaultMode?, for reference: MediaReference) async throws {
        try checkOwner()
        let (loader, lease) = try await use(reference)
        defer { withExtendedLifetime(lease) {} }
        try await loader.ready()
        let (record, names, source) = (loader.record, names, loader.addresses.current)
        try await pool.run {
            if let principal = record.key.principal { try names.note(principal) }
            try record.setMode(mode, of: source)
        }
        loader.change { $0.setMode(own: .some(mode)) }
        await loader.storeAgain()
    }

    /// What counts for a resource.
    package func modeInForce(for reference: MediaReference) async -> VaultMode {
        VaultMode.inForce(vault: mode, own: (try? await mode(of: reference)) ?? nil)
    }

    /// Reads what the settings say. Settings that are damaged are told to those who ask for them.
    func recallMode() async {
        let setting = try? await modeSetting()
        modeOfSettings.withLock { $0 = setting ?? nil }
    }

    private func checkOwner() throws {
        guard store.isOwner else {
            throw VaultError(.owned, "only the owner of a vault changes its modes; open it as the owner")
        }
    }
}

extension Vault {
    /// ``mode(of:)-(MediaReference)`` of the resource that a URL names.
    public func mode(of url: MediaURL) async throws -> VaultMode? { try await mode(of: MediaReference(url)) }

    /// ``setMode(_:for:)-(_,MediaReference)`` of the resource that a URL names.
    public func setMode(_ mode: VaultMode?, for url: MediaURL) async throws {
        try await setMode(mode, for: MediaReference(url))
    }
}
