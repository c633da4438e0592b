import MediaVault
import VaultService

/// Changes the slots of a keyring: this process unlocks the keyring file, and the vault's owner applies the order.
///
/// No secret is sent to the service this way. The count of backups is changed in the same way.
struct SlotChanger: Sendable {
    private let connector: VaultConnector
    let orders: KeyringOrderIssuer
    /// The key that currently unlocks the keyring.
    let unlock: Unlock
    /// Whether a service owns the vault.
    private let isServed: Bool

    /// Unlocks the keyring; prompts if no key is named.
    init(_ access: VaultAccess, _ waiting: WaitOption) async throws {
        let opener = try await access.opener()
        let client = ControlClient(folder: opener.place.folder)
        orders = try await KeyringOrderIssuer.open(keyring: opener.place.keyring, unlock: opener.unlock)
        unlock = opener.unlock
        isServed = await client.isAnswered()
        connector = VaultConnector(
            client: client, opener: isServed ? nil : opener, fallbackOpener: { opener }, limits: nil,
            waitsForOwner: waiting.waitsForOwner)
    }

    /// Returns the new root key of a revocation, with which to try the preceding order; nil if there is no revocation.
    ///
    /// - Throws: as ``RootRevocation/newRoot(isServed:)``.
    func newRoot(of revocation: RootRevocation?) throws -> RootRotation? { try revocation?.newRoot(isServed: isServed) }

    /// Makes the owner apply an order, and then the revocation.
    ///
    /// - Parameter done: a message to print once the order is applied, even if the revocation fails.
    /// - Returns: as ``RootRevocation/run(on:)``; nil if there is no revocation.
    @discardableResult
    func carryOut(
        _ order: KeyringOrder, saying done: String? = nil, then revocation: RootRevocation? = nil
    ) async throws -> [VaultError]? {
        try await Interruption.cancelling("the keyring may have changed; see keys slot list") {
            try await connector.act { vault in
                try await vault.carryOut(order)
                if let done { await Terminal.shared.say(done) }
                return try await revocation?.run(on: vault)
            }
        }
    }
}
