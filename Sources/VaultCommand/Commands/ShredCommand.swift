import ArgumentParser
import MediaVault
import VaultService

struct ShredCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shred",
        abstract: "Forget titles for good: their keys, and what wrapped them.",
        discussion: """
            What plays ends. The titles' keys are deleted; then a new generation is made, every other key moves to it, and \
            the generations that had wrapped the deleted keys are destroyed: nothing in the vault or on its drive opens \
            them again. With --quick that is left to the next rotation, and the receipt says removed, not destroyed. \
            Copies of vault and keyring that were made before stay what they are. Each leaves a receipt: see keys audit.
            """)

    @Argument(help: ArgumentHelp("The titles: http or https.", valueName: "url"))
    var urls: [String]

    @Flag(help: "Leave the generation as it is.")
    var quick = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let references = try await naming.references(urls, access.unlocking)
        let finder = try await access.finder(waiting)
        let isQuick = quick
        let document = try await Interruption.cancelling("what was begun is finished when the vault is opened again") {
            try await finder.act { try await $0.shred(references, quick: isQuick) }
        }
        var failed: ExitStatus?
        for title in document.resources {
            guard let problem = title.problem.value else {
                if !json {
                    let line = "\(title.url): \(document.outcome), \(ByteCount.text(title.bytes.value ?? 0)) freed"
                    try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
                }
                continue
            }
            await Terminal.shared.say(problem.detail ?? problem.title)
            failed = failed ?? problem.error.map { ExitStatus($0.code) } ?? .failed
        }
        if json { try await StandardOutput.shared.write(try JSONText.of(document) + "\n") }
        if document.outcome == Receipt.Outcome.destroyed.rawValue {
            await Terminal.shared.say(
                "generation \(document.generation) is current, and wraps every key; back the keyring up")
        } else {
            await Terminal.shared.say(
                "an older generation is still there: keys rotate, keys rewrap and keys retire destroy what wrapped the keys"
            )
        }
        if let failed { throw Reported(status: failed) }
    }
}
