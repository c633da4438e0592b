import ArgumentParser
import MediaVault

/// Whether a way that goes is to be worth nothing, in a copied keyring too.
struct RevokeOptions: ParsableArguments {
    @Flag(
        help: """
            Then make a new root key, wrap every key anew and destroy the older generations, so that a copied keyring \
            opens nothing of this vault's folder any more.
            """)
    var revoke = false

    @OptionGroup var kept: KeptSlots

    func validate() throws {
        guard revoke || kept.isEmpty else {
            throw ValidationError("--slot-key-file, --slot-passphrase-file and --drop-slots belong to --revoke")
        }
    }

    /// The revocation that is wanted; nil where none is.
    ///
    /// - Parameter unlocks: what opens slots that stay, beside those that are named.
    func revocation(unlocks: [Unlock], allowLoose: Bool) -> RootRevocation? {
        guard revoke else { return nil }
        return RootRevocation(
            unlocks: unlocks + kept.unlocks(allowLoose: allowLoose), dropsOtherSlots: kept.dropSlots)
    }
}
