import ArgumentParser
import MediaVault
import VaultService

struct RevokeLinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke-links",
        abstract: "Revoke every playback address made so far, and the admin token.",
        discussion: """
            From then on they open nothing, at the running service too. The commands url and token make new ones. The \
            keyring's file is written anew: back it up again, an older copy opens this vault no more.
            """)

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let finder = try await access.finder(waiting)
        _ = try await Interruption.cancelling("the addresses may be good still") {
            try await finder.act { try await $0.revokeLinks() }
        }
        await Terminal.shared.say("all playback addresses and the admin token are revoked; back the keyring up again")
    }
}
