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

    /// The new root key of a revocation, for the order before it to be tried with; nil where there is none.
    ///
    /// - Throws: as ``RootRevocation/newRoot(isServed:)``.
    func newRoot(of revocation: RootRevocation?) throws -> NewRoot? { try revocation?.newRoot(isServed: isServed) }

    /// Has the owner carry out an order, and what is to follow it.
    ///
    /// - Parameter done: what is said once the order is carried out, whatever becomes of what follows.
    /// - Returns: as ``RootRevocation/run(on:)``; nil where nothing follows.
    @discardableResult
    func carryOut(
        _ order: KeyringOrder, saying done: String? = nil, then revocation: RootRevocation? = nil
    ) async throws -> [VaultError]? {
        try await Interruption.cancelling("the keyring is as it was, or changed; keys slot list shows which") {
            try await finder.act { vault in
                try await vault.carryOut(order)
                if let done { await Terminal.shared.say(done) }
                return try await revocation?.run(on: vault)
            }
        }
    }

    /// Says what a way that is gone still opens.
    ///
    /// - Parameter stayed: what ``carryOut(_:then:)`` gave.
    /// - Throws: ``Reported`` where a generation had to stay, with the exit code that `keys retire` has for it.
    static func tell(of way: String, _ stayed: [VaultError]?) async throws {
        guard let stayed else {
            await Terminal.shared.say(
                "whoever knew \(way) and copied the keyring opens that copy still, and has the root key out of it; "
                    + "where that may be so, run keys rotate --root, keys rewrap, and keys retire, which is what "
                    + "--revoke does")
            return
        }
        guard let first = stayed.first else {
            await Terminal.shared.say(
                "a new root key is made, every key is wrapped anew, and the older generations are destroyed: "
                    + "whoever knew \(way) and copied the keyring opens nothing of this vault's folder with that copy")
            return
        }
        for error in stayed { await Terminal.shared.say(error.message) }
        await Terminal.shared.say(
            "a new root key is made, but \(stayed.count) of the older generations had to stay: whoever knew \(way) and "
                + "copied the keyring has their keys; remove what needs them, then run keys retire for each")
        throw Reported(status: ExitStatus(first.code))
    }
}
