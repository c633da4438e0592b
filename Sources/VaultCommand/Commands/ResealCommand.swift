import ArgumentParser
import MediaVault
import VaultService

struct ResealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal",
        abstract: "Give titles new keys, and seal every segment of them anew.",
        discussion: """
            For when a title's own key may have leaked; all titles where none is named. Films play on. Those go first whose \
            risk is newest: what was begun, then what the oldest generation wraps, of those what was played last. Room for \
            one segment is enough. What is broken off goes on when the vault is opened again, or the command is run again. \
            Exit code 4 where damage was met, which becomes a gap, or a title does not open and keeps its key.
            """)

    @Argument(help: ArgumentHelp("The titles: http or https; none is all.", valueName: "url"))
    var urls: [String] = []

    @Option(help: ArgumentHelp("Seal at most so many bytes in a second: 500k, 20M, 1G.", valueName: "rate"))
    var limitRate: ByteRate?

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let references = try await naming.references(urls, access.unlocking)
        let finder = try await access.finder(waiting)
        let rate = limitRate?.bytesPerSecond
        let report = try await Interruption.cancelling("what is sealed anew stays so; run it again to go on") {
            try await finder.act { vault in
                var display = ProgressDisplay("reseal")
                let report = try await vault.reseal(references, bytesPerSecond: rate) { step in
                    await display.show(TransferProgress(held: step.bytes, total: step.bytesTotal))
                }
                await display.end()
                return report
            }
        }
        let verdict = ResealVerdict(report)
        for remark in verdict.remarks { await Terminal.shared.say(remark) }
        if !json {
            for (reference, subject) in zip(references, report.subjects) {
                let line = "\(reference.url): title \(subject) in receipts"
                try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
            }
        }
        if json { try await StandardOutput.shared.write(try JSONText.of(report) + "\n") }
        guard verdict.status == .done else { throw Reported(status: verdict.status) }
    }
}
