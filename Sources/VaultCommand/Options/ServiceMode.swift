import ArgumentParser
import MediaVault

/// The value of `--mode`.
enum ServiceMode: String, ExpressibleByArgument, Sendable, CaseIterable {
    case online, offline

    /// What the library calls it.
    var vaultMode: VaultMode {
        switch self {
        case .online: .online
        case .offline: .offline
        }
    }
}
