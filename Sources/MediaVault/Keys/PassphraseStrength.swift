import VaultCrypto

/// What it costs to make a key out of a passphrase: for whoever opens the vault, and for whoever guesses.
public enum PassphraseStrength: Hashable, Sendable {
    /// 3 passes over 256 MiB of memory: most of a second.
    case moderate
    /// 4 passes over 1 GiB of memory: some seconds.
    case sensitive

    /// A fresh salt at this cost.
    func cost() throws -> Argon2id.Cost {
        switch self {
        case .moderate: try .moderate()
        case .sensitive: try .sensitive()
        }
    }
}
