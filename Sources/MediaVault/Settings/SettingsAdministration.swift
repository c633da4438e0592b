import VaultCache
package import VaultModel
import VaultStorage

/// The settings of a vault: mode, limits, key policy, network, download queue and programs.
public struct SettingsAdministration: Sendable {
    let loaders: LoaderTable
    let downloads: DownloadQueue
    let quota: QuotaEnforcer
    /// The network settings in force.
    let network: NetworkInForce

    private var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }
    private var names: ResourceNames { loaders.environment.names }

    /// The mode in force: the mode of this run, or else that in the settings, or else ``VaultMode/online``.
    public var mode: VaultMode { loaders.environment.mode.current }

    /// Returns the mode in the vault's settings; nil if none is set.
    public func ownMode() async throws -> VaultMode? {
        let store = store
        return try await pool.run { try store.index.settings().mode }
    }

    /// Writes a mode to the vault's settings, or removes it from them. The change takes effect at once, unless this run
    /// has a mode of its own.
    ///
    /// - Throws: ``VaultError`` if it cannot be written, with code `owned` if this process is not the owner.
    public func setMode(_ mode: VaultMode?) async throws {
        try await change(mode: .some(mode))
    }

    /// Applies a mode that has already been written to the settings.
    func use(_ mode: VaultMode?) async {
        loaders.environment.mode.use(mode)
        let inForce = self.mode
        for loader in loaders.all { await loader.setMode(vault: inForce) }
        downloads.retryRequests()
    }

    /// Loads the mode from the settings. If the settings are invalid, the next request for them reports that.
    func loadMode() async {
        let setting = try? await ownMode()
        loaders.environment.mode.use(setting ?? nil)
    }

    /// Returns the programs that the settings name.
    ///
    /// The library does not run these programs; the service and the command do.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings fail authentication.
    package func programs() async throws -> ProgramSettings {
        let store = store
        return try await pool.run { try store.index.settings().programs }
    }

    /// Returns the limits in the vault's settings. The limits in force are in ``VaultStatus/limits``.
    public func limits() async throws -> StorageLimits { try await quota.settings() }

    /// Writes limits to the vault's settings, and enforces them.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a limit is negative, or if the size could be kept only
    ///   by removing pinned titles or downloads; `owned` if this process is not the owner.
    public func setLimits(_ limits: StorageLimits) async throws {
        try await change(limits: { $0 = limits })
    }

    /// Returns the policy that decides which URLs name the same resource.
    ///
    /// The policy is a setting of the vault, and applies to the library, the command and the service alike.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings fail authentication.
    public func keyPolicy() async throws -> KeyPolicy { try await names.policy() }

    /// Changes the policy that decides which URLs name the same resource, both now and for later openings of the vault.
    ///
    /// Current readers and downloads are not affected. A resource whose stored name no longer matches any URL is kept
    /// and listed, and is found again if the policy is changed back.
    ///
    /// - Throws: ``VaultError`` if the settings cannot be written, with code `owned` if this process is not the owner.
    public func setKeyPolicy(_ policy: KeyPolicy) async throws {
        try await change(policy: { _ in policy })
    }

    /// Changes several settings together. Either all of them are written, or none.
    ///
    /// - Parameters:
    ///   - limits: changes the limits in the settings.
    ///   - policy: changes which URLs name the same resource. If it throws, all settings stay unchanged.
    ///   - network: changes how origins are reached. If it throws, all settings stay unchanged.
    ///   - downloads: changes how the download queue runs. If it throws, all settings stay unchanged.
    ///   - programs: changes which programs to run. If it throws, all settings stay unchanged.
    ///   - mode: the new mode in the settings; nil leaves it unchanged.
    /// - Throws: ``VaultError`` if the settings cannot be written; with code `invalidArgument` in the same cases as
    ///   ``setLimits(_:)``; `owned` if this process is not the owner.
    package func change(
        limits change: (@Sendable (inout StorageLimits) throws -> Void)? = nil,
        policy changePolicy: (@Sendable (_ old: () throws -> KeyPolicy) throws -> KeyPolicy)? = nil,
        network changeNetwork: (@Sendable (_ old: () throws -> NetworkSettings) throws -> NetworkSettings)? = nil,
        downloads changeDownloads: (@Sendable (inout DownloadSettings) throws -> Void)? = nil,
        programs changePrograms: (@Sendable (inout ProgramSettings) throws -> Void)? = nil,
        mode: VaultMode?? = nil
    ) async throws {
        try store.requireOwner(to: "changes its settings")
        let (store, names, inForce, ofRun) = (store, names, network, quota.limitsOfRun)
        let queue = downloads
        try await pool.run { [self] in
            var (limits, policy, network): (StorageLimits?, KeyPolicy?, NetworkSettings?) = (nil, nil, nil)
            var downloads: DownloadSettings?
            // Check the limits before the transaction, because the index serves only one transaction at a time.
            if let change {
                var wanted = try store.index.settings().limits
                try change(&wanted)
                try QuotaEnforcer.check(wanted)
                try store.quota.requireAttainable(ofRun?.over(wanted) ?? wanted)
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
                if let changeNetwork {
                    let changed = try changeNetwork(settings.networkSettings)
                    settings.setNetwork(changed)
                    // Refuse settings that could not be read back, because they would stop every request.
                    guard try settings.networkSettings() == changed else { throw VaultSettings.unreadableNetwork }
                    network = changed
                }
                if let changeDownloads {
                    var changed = settings.downloads
                    try changeDownloads(&changed)
                    settings.setDownloads(changed)
                    downloads = changed
                }
                if let changePrograms {
                    var changed = settings.programs
                    try changePrograms(&changed)
                    settings.setPrograms(changed)
                }
                if let mode { settings.mode = mode }
            }
            if let policy { names.use(policy) }
            if let network {
                inForce.use(network)
                queue.retryRequests()
            }
            if let downloads { queue.use(downloads) }
            if let limits { try quota.keep(to: limits) }
        }
        if let mode { await use(mode) }
    }

    /// Returns the settings of the download queue.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings fail authentication.
    public func downloads() async throws -> DownloadSettings {
        let store = store
        return try await pool.run { try store.index.settings().downloads }
    }

    /// Changes the settings of the download queue, which take effect at once.
    ///
    /// - Throws: ``VaultError`` if the settings cannot be written, with code `owned` if this process is not the owner.
    public func setDownloads(_ downloads: DownloadSettings) async throws {
        try await change(downloads: { $0 = downloads })
    }

    /// Returns the settings for reaching origins, such as proxies, trusted certificates and header fields.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings cannot be read.
    public func network() async throws -> NetworkSettings {
        let store = store
        return try await pool.run { try store.index.settings().networkSettings() }
    }

    /// Changes how the vault reaches origins, for all later requests.
    ///
    /// A vault with a transport of its own (``VaultOptions/origin``) stores these settings, but does not use them.
    ///
    /// - Throws: ``VaultError`` if they cannot be written, with code `owned` if this process is not the owner.
    public func setNetwork(_ network: NetworkSettings) async throws {
        try await change(network: { _ in network })
    }
}
