import VaultModel
import VaultStorage

// How origins are reached.
extension Vault {
    /// Returns how origins are reached: by which proxies, trusting whom, and under which name.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings cannot be read.
    public func networkSettings() async throws -> NetworkSettings {
        let store = store
        return try await pool.run { try store.index.settings().networkSettings() }
    }

    /// Changes how origins are reached, for each request that begins from now on.
    ///
    /// A vault with a transport of its own (``VaultOptions/origin``) only keeps these settings.
    ///
    /// - Throws: ``VaultError`` if they cannot be written; with code `owned` if this process is not the owner.
    public func setNetworkSettings(_ network: NetworkSettings) async throws {
        try await changeSettings(network: { _ in network })
    }

    /// Sets what finds a new link to a title whose origin refuses the one that the vault has, as for a signed URL that
    /// has expired; nil for nothing.
    ///
    /// Only titles with a ``MediaReference/contentID`` are refreshed, because their name does not depend on the URL. What
    /// is held of the title stays held: the origin is asked for the rest only of the same representation. The new link is
    /// sealed with the title once the origin has accepted it, and used from then on.
    public func setLinkRefresher(_ refresher: LinkRefresher?) { loaders.environment.refresher.use(refresher) }
}

/// The network settings in force, which the transport asks for before each request.
final class NetworkInForce: Sendable {
    /// Nil if the settings cannot be read.
    private let settings: Locked<NetworkSettings?>

    /// Reads the settings. Blocks.
    init(_ store: VaultStore) { settings = Locked(try? store.index.settings().networkSettings()) }

    /// Returns the settings.
    ///
    /// - Throws: ``OriginFailure`` if they cannot be read: a request without the proxy that was set would show its
    ///   target to others.
    func current() throws(OriginFailure) -> NetworkSettings {
        guard let network = settings.withLock({ $0 }) else {
            throw OriginFailure(
                .unreachable, "the vault's network settings cannot be read",
                remedy: "set or unset the proxy, then the others again")
        }
        return network
    }

    /// Reads the settings again. Blocks.
    func reload(from store: VaultStore) {
        guard let found = try? store.index.settings().networkSettings() else { return }
        use(found)
    }

    /// Forgets the settings, because the vault is closed.
    func forget() { settings.withLock { $0 = nil } }

    /// Switches to settings that have been written.
    func use(_ network: NetworkSettings) { settings.withLock { $0 = network } }
}
