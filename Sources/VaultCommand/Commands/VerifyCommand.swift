import ArgumentParser
import MediaVault
import VaultService

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Open every block of the vault, and tell what does not open.",
        discussion: """
            Works beside a running service, and changes nothing. With --repair, which a running service does, damaged ranges alone are fetched anew, \
            whole segments that the index has lost are taken in again, and what is no segment is moved to quarantine. \
            Exit code 4 where damage is left, 1 where something could not be read.
            """)

    @Flag(help: "Fetch what is damaged anew.")
    var `repair` = false

    @Option(help: ArgumentHelp("Open only this share of the segments, chosen by chance, in percent.", valueName: "p"))
    var sample: SamplePercent?

    @Option(
        help: ArgumentHelp("Open at most so many bytes in a second: 500k, 20M, 1G.", valueName: "rate"))
    var limitRate: ByteRate?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let options = VerifyOptions(
            repairs: `repair`, sample: sample?.percent, bytesPerSecond: limitRate?.bytesPerSecond)
        let act = try await act(options)
        let document = try await Interruption.cancelling("what was repaired stays so", act)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : VerifySheet.text(document))
        guard document.sound else { throw Reported(status: document.remaining > 0 ? .integrity : .failed) }
    }

    /// Repairing is the owner's; looking needs no ownership.
    private func act(_ options: VerifyOptions) async throws -> @Sendable () async throws -> VerifyDocument {
        if options.repairs {
            let finder = try await access.finder(waiting)
            return { try await finder.act { try await Self.verify($0, options) } }
        }
        let opener = try await access.opener()
        return {
            do {
                return try await opener.reading { try await Self.verify(LocalVault($0), options) }
            } catch let error as VaultError where error.code == .olderKeyring {
                // The owner changed the keys meanwhile: from the beginning, with the new ones.
                return try await opener.reading { try await Self.verify(LocalVault($0), options) }
            }
        }
    }

    /// Checks a vault, and shows how far it is.
    private static func verify(_ vault: any VaultOperator, _ options: VerifyOptions) async throws -> VerifyDocument {
        var display = ProgressDisplay("verify")
        let document = try await vault.verify(options) { step in
            await display.show(TransferProgress(held: step.bytesOpened, total: step.bytesTotal))
        }
        await display.end()
        return document
    }
}
