import MediaVault
import VaultService

/// Changes a keyring from the command: unlocks its file here, and hands what is to be done to whoever owns the vault. So
/// no secret is sent to the service.
struct KeyringChanger: Sendable {
    private let finder: OperatorFinder
    let orders: KeyringOrders
    /// What opens the keyring now.
    let unlock: Unlock
    /// Whether a service owns the vault.
    private let isServed: Bool

    /// Unlocks the keyring, asking at the terminal where nothing is named.
    init(_ access: VaultAccess, _ waiting: WaitOption) async throws {
        let opener = try await access.opener()
        let client = ControlClient(folder: opener.place.folder)
        orders = try await KeyringOrders.open(keyring: opener.place.keyring, unlock: opener.unlock)
        unlock = opener.unlock
        isServed = await client.isAnswered()
        finder = OperatorFinder(
            client: client, opener: isServed ? nil : opener, laterOpener: { opener }, limits: nil,
            isPatient: waiting.isPatient)
    }

    /// Has the owner carry out an order, and what is to follow it.
    func carryOut(_ order: KeyringOrder, then revocation: RootRevocation? = nil) async throws {
        try revocation?.check(isServed: isServed)
        _ = try await Interruption.cancelling("the keyring is as it was, or changed; keys slot list shows which") {
            try await finder.act { vault in
                try await vault.carryOut(order)
                try await revocation?.run(on: vault)
            }
        }
    }

    /// Says what a way that is gone still opens.
    static func tell(of way: String, _ revocation: RootRevocation?) async {
        await Terminal.shared.say(
            revocation == nil
                ? "whoever knew \(way) and copied the keyring opens that copy still, and has the root key out of it; "
                    + "where that may be so, run keys rotate --root, keys rewrap, and keys retire, which is what "
                    + "--revoke does"
                : "a new root key is made, every key is wrapped anew, and the older generations are destroyed: "
                    + "whoever knew \(way) and copied the keyring opens nothing of this vault's folder with that copy")
    }
}
