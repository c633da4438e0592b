import VaultModel
import VaultStorage

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
