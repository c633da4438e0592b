/// What may be asked of origins, and what is kept of their answers: for a vault, and for single resources.
public enum VaultMode: String, CaseIterable, Sendable {
    /// What is missing is fetched and kept; what is held is confirmed with its origin once it is no longer fresh.
    case online
    /// What is held is given as it is; what is missing is fetched and kept.
    case preferVault = "prefer-vault"
    /// Nothing is fetched: held ranges play, a hole is a clear error at its byte.
    case offline
    /// What is missing is fetched and handed on; nothing is written.
    case noStore = "no-store"
}

// What the modes mean.
extension VaultMode {
    /// Whether origins are asked at all.
    package var asksOrigins: Bool { self != .offline }

    /// Whether what comes is kept.
    var stores: Bool { self == .online || self == .preferVault }

    /// Whether what is held is confirmed with its origin.
    var confirms: Bool { self == .online || self == .noStore }

    /// The mode of a resource in a vault: its own, unless the vault's forbids more.
    package static func inForce(vault: VaultMode, own: VaultMode?) -> VaultMode {
        let named = [vault, own ?? vault]
        if named.contains(.offline) { return .offline }
        return named.contains(.noStore) ? .noStore : named[1]
    }
}
