import MediaVault
import VaultService

/// Changes the slots of a keyring. This process unlocks the keyring file and issues an order, which the vault's owner
/// applies.
///
/// In this way, no secret is sent to the service. The count of backups is changed in the same way.
struct SlotChanger: Sendable {
    private let connector: VaultConnector
    let orders: KeyringOrderIssuer
    /// The key that currently unlocks the keyring.
    let unlock: Unlock
    /// Whether a service owns the vault.
    private let isServed: Bool

    /// Creates the changer by unlocking the keyring, after prompting for a passphrase if no key is named.
    init(_ owner: OwnerAccess) async throws {
        let opener = try await owner.access.opener()
        let client = ControlClient(folder: opener.place.folder)
        orders = try await KeyringOrderIssuer.open(keyring: opener.place.keyring, unlock: opener.unlock)
        unlock = opener.unlock
        isServed = await client.isAnswered()
        connector = VaultConnector(
            client: client, opener: isServed ? nil : opener, fallbackOpener: { opener }, limits: nil,
            waitsForOwner: owner.waiting.waitsForOwner)
    }

    /// Returns a revocation's rotation of the root key, which is to be tried together with the preceding order; nil if
    /// there is no revocation.
    ///
    /// - Throws: as ``RootRevocation/newRoot(isServed:)``.
    func newRoot(of revocation: RootRevocation?) throws -> RootRotation? { try revocation?.newRoot(isServed: isServed) }

    /// Makes the vault's owner apply an order, and then carry out the revocation.
    ///
    /// - Parameter done: the message to print once the order has been applied, even if the revocation then fails.
    /// - Returns: as ``RootRevocation/run(on:)``; nil if there is no revocation.
    @discardableResult
    func carryOut(
        _ order: KeyringOrder, saying done: String? = nil, then revocation: RootRevocation? = nil
    ) async throws -> [VaultError]? {
        try await connector.acting(ifInterrupted: "the keyring may have changed; see keys slot list") { vault in
            try await vault.call(Operations.Keys.changeKeyring, order)
            if let done { await Terminal.shared.say(done) }
            return try await revocation?.run(on: vault)
        }
    }
}
