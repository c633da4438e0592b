import VaultModel
import VaultStorage

// How origins are reached.
extension Vault {
    /// Returns how origins are reached: which proxies, which trusted certificates, and which names are used.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings cannot be read.
    public func networkSettings() async throws -> NetworkSettings {
        let store = store
        return try await pool.run { try store.index.settings().networkSettings() }
    }

    /// Changes how origins are reached, for all later requests.
    ///
    /// A vault with a transport of its own (``VaultOptions/origin``) only stores these settings.
    ///
    /// - Throws: ``VaultError`` if they cannot be written; with code `owned` if this process is not the owner.
    public func setNetworkSettings(_ network: NetworkSettings) async throws {
        try await changeSettings(network: { _ in network })
    }

    /// Sets the refresher, which finds a new link to a title if the origin refuses the known one, such as an expired
    /// signed URL; nil for none.
    ///
    /// Only titles with a ``MediaReference/contentID`` are refreshed, because their name does not depend on the URL.
    /// Held bytes of the title stay held: the vault requests the rest from the origin only if the representation is the
    /// same. Once the origin has accepted the new link, it is sealed with the title and used for later requests.
    public func setLinkRefresher(_ refresher: LinkRefresher?) { loaders.environment.refresher.use(refresher) }
}

/// The network settings in force, which the transport reads before each request.
final class NetworkInForce: Sendable {
    /// Nil if the settings cannot be read.
    private let settings: Locked<NetworkSettings?>

    /// Reads the settings. Blocks.
    init(_ store: VaultStore) { settings = Locked(try? store.index.settings().networkSettings()) }

    /// Returns the settings.
    ///
    /// - Throws: ``OriginFailure`` if they cannot be read: a request that bypassed the configured proxy would reveal
    ///   its target to others.
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
