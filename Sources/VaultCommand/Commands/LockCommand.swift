import ArgumentParser
import MediaVault
import VaultService

struct LockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Have the running service wipe every key from its memory.",
        discussion: """
            All playback ends, what was received is kept, and from then on the service opens nothing, until it is started \
            anew: no key can be given to one that runs. Needs no key.
            """)

    @OptionGroup(title: "Vault")
    var place: PlaceOptions

    func run() async throws {
        do {
            try await ServedVault(ControlClient(folder: try place.vault())).lock()
            await Terminal.shared.say("locked: the service has no key any more; start it anew to play")
        } catch is ServiceGone {
            await Terminal.shared.say("no service has the vault open: there is nothing to lock")
        }
    }
}
