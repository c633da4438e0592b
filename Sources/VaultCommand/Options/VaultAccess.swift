import ArgumentParser
import MediaVault
import VaultService

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

    /// Looks for a service that owns the vault; only where there is none is settled what opens the vault here.
    ///
    /// - Parameter limits: for this run, where this process becomes the owner; a service keeps to its own.
    func finder(_ wait: WaitOption = WaitOption(), limits: RoomLimits? = nil) async throws -> OperatorFinder {
        let client = ControlClient(folder: try place.vault())
        return OperatorFinder(
            client: client, opener: await client.isAnswered() ? nil : try await opener(),
            laterOpener: { [self] in
                guard try unlocking.way() != .prompt else {
                    throw VaultError(.closed, "the service has ended before it answered; run the command again")
                }
                return try await opener()
            }, limits: limits, isPatient: wait.isPatient)
    }
}
