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
            Exit code 4 where a title's rows do not open and it keeps its key.
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
        await Terminal.shared.say(
            "\(report.resources) titles have new keys, \(ByteCount.text(report.bytes)) were sealed anew")
        if json { try await StandardOutput.shared.write(try JSONText.of(report) + "\n") }
        guard report.problems > 0 else { return }
        await Terminal.shared.say(
            "\(report.problems) titles keep an older key: run verify, and remove what does not open")
        throw Reported(status: .integrity)
    }
}
