import VaultCrypto
import VaultModel
import VaultStorage

extension Vault {
    /// Makes a new root key, a new token key and a new generation, in one write of the keyring: who knows the old root key
    /// does not open the keyring any more. All playback addresses and the admin token are void. What is stored stays under
    /// the older generations until it is rewrapped.
    ///
    /// - Parameters:
    ///   - unlocks: what opens the slots that stay: their secrets are needed to seal the new root key.
    ///   - droppingOtherSlots: whether the slots that none of them opens go.
    /// - Returns: how the keys stand now.
    /// - Throws: ``VaultError`` with code `wrongKey` where one opens no slot, `invalidArgument` where a slot would be locked
    ///   out that may not, with its name; those of reading the secrets; `busy`, `owned`, `storage`, `diskFull`.
    public func rotateRoot(unlockedBy unlocks: [Unlock], droppingOtherSlots: Bool = false) async throws -> KeyReport {
        try await changingKeys(.rotateRoot) { store, log in
            let secrets = try unlocks.map { SharedSecret(try $0.secret()) }
            _ = try store.renewRoot(openedBy: secrets, droppingOthers: droppingOtherSlots, noting: log)
            return try KeyReport(store, act: nil)
        }
    }
}
