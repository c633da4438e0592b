import ArgumentParser
import MediaVault
import VaultService

/// Whether a way that goes is to be worth nothing, in a copied keyring too.
struct RevokeOptions: ParsableArguments {
    @Flag(
        help: """
            Then make a new root key, wrap every key anew and destroy the older generations, so that a copied keyring \
            opens nothing of this vault's folder any more. One that something needs stays, with exit code 1.
            """)
    var revoke = false

    @OptionGroup var kept: KeptSlots

    func validate() throws {
        guard revoke || kept.isEmpty else {
            throw ValidationError("\(KeptSlots.names) belong to --revoke")
        }
    }

    /// The revocation that is wanted; nil where none is.
    ///
    /// - Parameters:
    ///   - new: what opens the slot that the order brings.
    ///   - unlocks: what opens slots that stay, beside those that are named.
    func revocation(new: Unlock? = nil, unlocks: [Unlock], allowLoose: Bool) throws -> RootRevocation? {
        guard revoke else { return nil }
        return RootRevocation(
            new: new, kept: try unlocks.map { .unlock($0) } + kept.keys(allowLoose: allowLoose),
            dropsOtherSlots: kept.dropSlots)
    }
}
