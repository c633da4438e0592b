import VaultModel
import VaultStorage

// How the vault reaches origins.
extension Vault {
    /// Returns the settings for reaching origins, such as proxies, trusted certificates and header fields.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the settings cannot be read.
    public func networkSettings() async throws -> NetworkSettings {
        let store = store
        return try await pool.run { try store.index.settings().networkSettings() }
    }

    /// Changes how the vault reaches origins, for all later requests.
    ///
    /// A vault with a transport of its own (``VaultOptions/origin``) stores these settings, but does not use them.
    ///
    /// - Throws: ``VaultError`` if they cannot be written, with code `owned` if this process is not the owner.
    public func setNetworkSettings(_ network: NetworkSettings) async throws {
        try await changeSettings(network: { _ in network })
    }

    /// Sets the refresher, which finds a new link to a title if the origin refuses the known one, for example because a
    /// signed URL has expired; nil for no refresher.
    ///
    /// Only titles with a ``MediaReference/contentID`` are refreshed, because their name does not depend on the URL.
    /// The title's held bytes stay held. The vault requests the missing ones from the origin only if the representation
    /// is the same. Once the origin has accepted the new link, the link is sealed with the title and used for later
    /// requests.
    public func setLinkRefresher(_ refresher: LinkRefresher?) { loaders.environment.refresher.use(refresher) }
}

/// The network settings in force, which the transport reads before each request.
final class NetworkInForce: Sendable {
    /// The settings; nil if they cannot be read.
    private let settings: Locked<NetworkSettings?>

    /// Reads the settings. Blocks.
    init(_ store: VaultStore) { settings = Locked(try? store.index.settings().networkSettings()) }

    /// Returns the settings in force.
    ///
    /// - Throws: ``OriginFailure`` if the settings cannot be read. No request may be sent then, because one that
    ///   bypassed the configured proxy would reveal its target to others.
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

    /// Discards the settings, because the vault is closed.
    func forget() { settings.withLock { $0 = nil } }

    /// Applies settings that have already been written.
    func use(_ network: NetworkSettings) { settings.withLock { $0 = network } }
}
