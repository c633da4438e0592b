import VaultCrypto

/// A way to unlock the keyring, as its file tells it. It holds no secret.
public struct KeyringSlot: Hashable, Sendable {
    /// What it is called by, from 1.
    public let number: Int
    /// What people call it.
    public let label: String
    /// `key-file`, `passphrase`, `command` or `credential`.
    public let method: String
    /// Passes of Argon2id, where it is a passphrase.
    public let opsLimit: Int64?
    /// Memory of Argon2id in bytes, where it is a passphrase.
    public let memLimit: Int64?

    init(_ slot: KeyringDocument.Slot) {
        number = Int(slot.number)
        label = slot.label
        method = slot.method.rawValue
        opsLimit = slot.passphrase?.opsLimit
        memLimit = slot.passphrase?.memLimit
    }
}
