import ArgumentParser
import MediaVault
import VaultService

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove titles from the vault: their bytes, and all that is known of them.",
        discussion: "What plays ends. With several URLs all are tried, and the first failure's exit code counts.")

    @OptionGroup var titles: TitleArguments

    func run() async throws {
        try await titles.act { vault, reference in
            let removal = try await vault.remove(reference)
            let rest = removal.isErased == false ? "; its key is erased within a minute" : ""
            return TitleRecord.Outcome(
                bytes: removal.bytes, sentence: "removed, \(ByteCount.text(removal.bytes)) freed" + rest)
        }
    }
}
