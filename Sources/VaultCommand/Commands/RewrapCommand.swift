import ArgumentParser
import MediaVault
import VaultService

struct RewrapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rewrap",
        abstract: "Wrap the key of every title anew under the current generation.",
        discussion: """
            No media is read or written, and films play on. What is done stays done: run it again to go on. Exit code 4 \
            where a key does not open, and so keeps its generation.
            """)

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let finder = try await access.finder(waiting)
        let document = try await Interruption.cancelling("what is wrapped anew stays so") {
            try await finder.act { vault in
                let document = try await vault.rewrap { step in
                    guard Terminal.shared.canRedraw else { return }
                    await Terminal.shared.redraw("rewrap  \(step.keys) of \(step.total) keys")
                }
                await Terminal.shared.keepLine()
                return document
            }
        }
        let verdict = RewrapVerdict(document)
        for remark in verdict.remarks { await Terminal.shared.say(remark) }
        if json { try await StandardOutput.shared.write(try JSONText.of(document) + "\n") }
        guard verdict.status == .done else { throw Reported(status: verdict.status) }
    }
}
