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

// The same for resources that a URL alone names.
extension Vault {
    /// ``information(for:)-(MediaReference)`` of the resource that a URL names.
    public func information(for url: MediaURL) async throws -> ContentInformation {
        try await information(for: MediaReference(url))
    }

    /// ``head(of:)-(MediaReference)`` of the resource that a URL names.
    public func head(of url: MediaURL) async throws -> MediaHead { try await head(of: MediaReference(url)) }

    /// ``read(_:range:)-(MediaReference,_)`` of the resource that a URL names.
    public func read(_ url: MediaURL, range: RequestedRange = .whole) async throws -> MediaReader {
        try await read(MediaReference(url), range: range)
    }

    /// ``download(_:options:)-(MediaReference,_)`` of the resource that a URL names.
    public func download(_ url: MediaURL, options: DownloadOptions = DownloadOptions()) -> Download {
        download(MediaReference(url), options: options)
    }

    /// ``summary(of:)-(MediaReference)`` of the resource that a URL names.
    public func summary(of url: MediaURL) async throws -> ResourceSummary? {
        try await summary(of: MediaReference(url))
    }

    /// ``export(_:to:replacing:progress:)-(MediaReference,_,_,_)`` of the resource that a URL names.
    public func export(_ url: MediaURL, to path: String, replacing: Bool = false) async throws {
        try await export(MediaReference(url), to: path, replacing: replacing)
    }
}

extension Vault {
    /// Changes several settings together: all of them are written, or none is.
    ///
    /// - Parameters:
    ///   - limits: changes the limits that the settings name.
    ///   - policy: changes which URLs name one resource; what it throws leaves all settings as they were.
    ///   - mode: the mode that the settings are to name; nil leaves it as it is.
    /// - Throws: ``VaultError`` where the settings cannot be written; with code `invalidArgument` as ``setLimits(_:)``;
    ///   `owned` where this is not the owner.
    package func changeSettings(
        limits change: (@Sendable (inout StorageLimits) throws -> Void)? = nil,
        policy changePolicy: (@Sendable (_ old: () throws -> KeyPolicy) throws -> KeyPolicy)? = nil,
        mode: VaultMode?? = nil
    ) async throws {
        try requireOwner(to: "changes its settings")
        let (store, names, ofRun) = (store, names, limitsOfRun)
        try await pool.run { [self] in
            var (limits, policy): (StorageLimits?, KeyPolicy?) = (nil, nil)
            // A limit is judged before the transaction: the index answers to one at a time.
            if let change {
                var wanted = try store.index.settings().limits
                try change(&wanted)
                try Self.check(wanted)
                try store.requireReachable(ofRun?.over(wanted) ?? wanted)
            }
            try store.changeSettings { settings in
                if let change {
                    try change(&settings.limits)
                    limits = settings.limits
                }
                if let changePolicy {
                    let changed = try changePolicy(settings.keyPolicy)
                    settings.setKeyPolicy(changed)
                    policy = changed
                }
                if let mode { settings.mode = mode?.rawValue }
            }
            if let policy { names.use(policy) }
            if let limits { try keep(to: limits) }
        }
        if let mode { await use(mode) }
    }
}
