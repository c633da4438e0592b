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
        await Terminal.shared.say("\(document.keys) keys are wrapped by generation \(document.generation)")
        await Terminal.shared.say("\(KeyAct.rewrap.cutsOff); \(KeyAct.rewrap.leaves)")
        if json { try await StandardOutput.shared.write(try JSONText.of(document) + "\n") }
        guard document.unopened == 0 else {
            await Terminal.shared.say(
                "\(document.unopened) keys do not open and stay as they are: remove the titles that list cannot name")
            throw Reported(status: .integrity)
        }
    }
}
