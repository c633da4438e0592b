import VaultCrypto
import VaultModel
import VaultStorage

/// What a keyring's file tells of itself.
public struct KeyringSummary: Hashable, Sendable {
    /// The name of the vault it belongs to, 32 hex digits.
    public let vaultID: String
    /// Grows by one with each change.
    public let revision: Int64
    /// The ways to unlock it, in their order.
    public let slots: [KeyringSlot]

    init(_ document: KeyringDocument) {
        vaultID = document.vaultID.hex
        revision = document.revision
        slots = document.slots.map(KeyringSlot.init)
    }

    /// Reads a keyring's file without unlocking it: whether somebody without its keys has changed it shows only when it
    /// is unlocked.
    ///
    /// - Throws: ``VaultError`` with code `noVault`, `damagedKeyring` or `storage`.
    public static func read(_ keyring: String) async throws -> KeyringSummary {
        try await BlockingPool.shared.run {
            KeyringSummary(try KeyringReader.unauthenticated(KeyringFile.read(keyring)))
        }
    }
}
