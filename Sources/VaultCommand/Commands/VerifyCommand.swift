import ArgumentParser
import MediaVault

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Open every block of the vault, and tell what does not open.",
        discussion: """
            Works beside a running service, and changes nothing. With --repair damaged ranges alone are fetched anew, \
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

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let opener = try await access.opener()
        let options = VerifyOptions(
            repairs: `repair`, sample: sample?.percent, bytesPerSecond: limitRate?.bytesPerSecond)
        let report = try await Interruption.cancelling("what was repaired stays so") {
            if options.repairs {
                try await opener.owning { try await Self.verify($0, options) }
            } else {
                try await opener.reading { try await Self.verify($0, options) }
            }
        }
        let record = VerifyRecord(report)
        try await StandardOutput.shared.write(json ? try JSONText.of(record) + "\n" : VerifySheet.text(report))
        if let status = record.status { throw Reported(status: status) }
    }

    /// Checks a vault, and shows how far it is.
    static func verify(_ vault: Vault, _ options: VerifyOptions) async throws -> VerifyReport {
        var display = ProgressDisplay("verify")
        var report: VerifyReport?
        for try await step in vault.verify(options) {
            if let found = step.report { report = found }
            await display.show(TransferProgress(held: step.bytesOpened, total: step.bytesTotal))
        }
        await display.end()
        // A check that was not cancelled ends with its report.
        guard let report else { throw CancellationError() }
        return report
    }
}
