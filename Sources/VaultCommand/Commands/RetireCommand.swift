import ArgumentParser
import MediaVault
import VaultService

struct RetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Destroy a generation of keys that nothing needs any more.",
        discussion: """
            Refuses while anything needs it, and says what. What it prints is the proof: what needs each generation. Run \
            again, it finishes what was broken off.
            """)

    @Argument(help: ArgumentHelp("The generation, as keys list numbers it.", valueName: "n"))
    var generation: Int

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let (finder, generation) = (try await access.finder(waiting), generation)
        let document = try await Interruption.cancelling("keys list tells whether the generation is there still") {
            try await finder.act { try await $0.retire(generation) }
        }
        let done = "generation \(generation) is destroyed"
        await Terminal.shared.say([done, KeysSheet.cutOff(by: document)].compactMap(\.self).joined(separator: "; "))
        if let backups = document.generations.first(where: { $0.number == generation })?.backups, backups > 0 {
            await Terminal.shared.say("\(backups) backup files of the keyring hold it still: destroy them, too")
        }
        await KeysSheet.tellRest(.retire, document)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : KeysSheet.text(document))
    }
}
