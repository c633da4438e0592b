/// What may be requested from origins, and what is stored, for a vault or for a single resource.
public enum VaultMode: String, Codable, CaseIterable, Sendable {
    /// Missing bytes are fetched and stored; held bytes are revalidated with the origin once they are no longer fresh.
    case online
    /// Held bytes are served without revalidation; missing bytes are fetched and stored.
    case preferVault = "prefer-vault"
    /// Nothing is fetched: held ranges play, and reading a gap fails at its first byte.
    case offline
    /// Missing bytes are fetched and delivered; nothing is written.
    case noStore = "no-store"
}

// What each mode allows.
extension VaultMode {
    /// Whether anything is requested from origins.
    package var allowsRequests: Bool { self != .offline }

    /// Whether fetched bytes are stored.
    package var stores: Bool { self == .online || self == .preferVault }

    /// Whether held bytes are revalidated with the origin.
    package var revalidates: Bool { self == .online || self == .noStore }

    /// Returns the mode in force for a resource: its own mode, unless the vault's mode is stricter.
    package static func inForce(vault: VaultMode, own: VaultMode?) -> VaultMode {
        let named = [vault, own ?? vault]
        if named.contains(.offline) { return .offline }
        return named.contains(.noStore) ? .noStore : named[1]
    }
}
