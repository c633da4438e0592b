import ArgumentParser
import MediaVault
import VaultService

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Let limits touch titles again.",
        discussion: "With several URLs all are tried.")

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act { vault, reference in
            try await vault.unpin(reference)
            return TitleRecord.Outcome(sentence: "unpinned")
        }
    }
}
