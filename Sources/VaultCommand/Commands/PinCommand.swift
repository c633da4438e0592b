import ArgumentParser
import MediaVault
import VaultService

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Keep titles whatever the limits say.",
        discussion: "Nothing is fetched: fetch does that. With several URLs all are tried.")

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act { vault, reference in
            try await vault.pin(reference)
            return TitleRecord.Outcome(sentence: "pinned")
        }
    }
}
