import MediaVault
import VaultService

/// Makes what somebody has out of a copied keyring worth nothing: a new root key, every key wrapped anew, and the older
/// generations destroyed.
struct RootRevocation: Sendable {
    /// What opens the slots that stay.
    let keys: [SlotKey]
    /// Whether the slots that none of them opens go.
    let dropsOtherSlots: Bool

    /// Checks what can be known before anything changes.
    ///
    /// - Parameter isServed: whether a service does the work, which finds secrets in files and in its unit alone.
    /// - Throws: ``UsageError``
    func check(isServed: Bool) throws {
        guard !isServed || keys.allSatisfy(\.isFoundByOthers) else {
            throw UsageError(
                "--revoke needs what opens the slots that stay, and a running service takes that from a key or passphrase "
                    + "file or a credential of its unit; name one, or end the service and run this again")
        }
    }

    /// Does it.
    func run(on vault: any VaultOperator) async throws {
        let older = try await vault.rotateRoot(unlockedBy: keys, droppingOtherSlots: dropsOtherSlots).older
        _ = try await vault.rewrap { _ in }
        for generation in older { _ = try await vault.retire(generation.number) }
    }
}
