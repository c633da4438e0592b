import ArgumentParser
import MediaVault
import VaultService

struct SlotListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the ways to unlock the keyring.",
        discussion: """
            Reads the keyring's file as it stands, and needs nothing to unlock it: whether somebody changed it who has \
            not its keys shows when it is unlocked.
            """)

    @OptionGroup(title: "Vault") var place: PlaceOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let listing = KeyringListing(try await KeyringSummary.read(try place.keyringFile()))
        try await StandardOutput.shared.write(json ? try JSONText.of(listing) + "\n" : SlotTable.text(listing.slots))
    }
}
