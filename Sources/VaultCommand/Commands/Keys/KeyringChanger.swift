import MediaVault
import VaultService

/// Changes a keyring from the command: unlocks its file here, and hands what is to be done to whoever owns the vault. So
/// no secret is sent to the service.
struct KeyringChanger: Sendable {
    private let finder: OperatorFinder
    let orders: KeyringOrders

    /// Unlocks the keyring, asking at the terminal where nothing is named.
    init(_ access: VaultAccess, _ waiting: WaitOption) async throws {
        let opener = try await access.opener()
        let client = ControlClient(folder: opener.place.folder)
        orders = try await KeyringOrders.open(keyring: opener.place.keyring, unlock: opener.unlock)
        finder = OperatorFinder(
            client: client, opener: await client.isAnswered() ? nil : opener, laterOpener: { opener }, limits: nil,
            isPatient: waiting.isPatient)
    }

    /// Has the owner carry out an order.
    func carryOut(_ order: KeyringOrder) async throws {
        _ = try await Interruption.cancelling("the keyring is as it was, or changed; keys slot list shows which") {
            try await finder.act { try await $0.carryOut(order) }
        }
    }

    /// Says what a way that is gone still opens.
    static func warn(of way: String) async {
        await Terminal.shared.say(
            "whoever knew \(way) and copied the keyring opens that copy still, and has the root key out of it; where "
                + "that may be so, rotate the root key, rewrap, and retire the old generations")
    }
}
