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
            Copies of vault and keyring that were made before stay what they are. Each leaves a receipt: see keys audit URL. \
            Exit code 4 where a generation had to stay, because it wraps another title's key that does not open.
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
        for title in document.resources {
            guard let problem = title.problem.value else {
                if !json {
                    var line = "\(title.url): \(document.outcome), \(ByteCount.text(title.bytes.value ?? 0)) freed"
                    if let subject = title.subject.value { line += ", title \(subject) in receipts" }
                    try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
                }
                continue
            }
            await Terminal.shared.say(problem.detail ?? problem.title)
        }
        if json { try await StandardOutput.shared.write(try JSONText.of(document) + "\n") }
        let verdict = ShredVerdict(document, isQuick: quick)
        if let remark = verdict.remark { await Terminal.shared.say(remark) }
        guard verdict.status == .done else { throw Reported(status: verdict.status) }
    }
}
