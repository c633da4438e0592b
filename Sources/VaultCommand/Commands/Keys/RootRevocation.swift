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

    /// Does it. Every older generation is tried, whatever another one is needed for.
    ///
    /// - Returns: of each that had to stay, why.
    func run(on vault: any VaultOperator) async throws -> [VaultError] {
        let older = try await vault.rotateRoot(unlockedBy: keys, droppingOtherSlots: dropsOtherSlots).older
        _ = try await vault.rewrap { _ in }
        var stayed: [VaultError] = []
        for generation in older {
            do {
                _ = try await vault.retire(generation.number)
            } catch let error as VaultError where error.code == .inUse {
                stayed.append(error)
            }
        }
        return stayed
    }
}
