import VaultCrypto
import VaultStorage

/// A new way to unlock a keyring.
public struct SlotWay: Sendable {
    /// What will open it. A key file that is not there is made.
    public var unlock: Unlock
    /// What people call it; nil for the name of its method, or the label that the slot has.
    public var label: String?
    /// What its passphrase costs, where it is one.
    public var strength: PassphraseStrength

    /// A way with a label of at most 128 bytes.
    public init(_ unlock: Unlock, label: String? = nil, strength: PassphraseStrength = .moderate) {
        self.unlock = unlock
        self.label = label
        self.strength = strength
    }

    /// Whether its key file is yet to be made.
    var isToBeMade: Bool {
        guard case .keyFile(let path, _) = unlock else { return false }
        return !PosixFileSystem().exists(path)
    }

    /// Reads what will open it; a random key stands in for a key file that is yet to be made. Blocks.
    func plannedSecret() throws -> UnlockSecret { isToBeMade ? .key(try Fresh.key("key file")) : try unlock.secret() }

    /// Reads what will open it, after making the key file that is not there. Blocks.
    func newSecret() throws -> UnlockSecret {
        try Vault.makeKeyFile(unlock, PosixFileSystem())
        return try unlock.secret()
    }
}
