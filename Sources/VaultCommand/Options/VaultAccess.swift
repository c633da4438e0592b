import ArgumentParser
import MediaVault

/// The options of a command that opens the vault.
struct VaultAccess: ParsableArguments {
    @OptionGroup(title: "Vault")
    var place: PlaceOptions

    @OptionGroup(title: "Unlock")
    var unlocking: UnlockOptions

    /// Settles what the options leave open, at the terminal where nothing is named.
    func opener() async throws -> VaultOpener {
        let place = try place.place()
        return VaultOpener(place: place, unlock: try await unlocking.unlock())
    }
}
