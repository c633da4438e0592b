import ArgumentParser
import MediaVault
import VaultService

/// The arguments of a command that does one thing to each of some titles.
struct TitleArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("The titles: http or https.", valueName: "url"))
    var urls: [String]

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print one JSON object for each title.")
    var json = false

    typealias Act = @Sendable (any VaultOperator, MediaReference) async throws -> TitleRecord.Outcome

    /// Does it to every title: what fails is said, and the first failure's exit code counts.
    func act(_ act: @escaping Act) async throws {
        try naming.check(urls.compactMap { try? MediaURL($0) })
        let fields = try await naming.fields(access.unlocking)
        let finder = try await access.finder(waiting)
        let (urls, contentID, json) = (urls, naming.contentID, json)
        let failed = try await Interruption.cancelling("what was done stays so") {
            try await finder.act { vault in
                var failed: ExitStatus?
                for (index, url) in urls.enumerated() {
                    let record = try await Self.record(of: url, index + 1, urls.count, isPrinted: json) {
                        try await act(vault, MediaReference($0, contentID: contentID, fields: fields))
                    }
                    if record.status != .done { failed = failed ?? record.status }
                }
                return failed
            }
        }
        if let failed { throw Reported(status: failed) }
    }

    private static func record(
        of text: String, _ number: Int, _ count: Int, isPrinted: Bool,
        _ act: (MediaURL) async throws -> TitleRecord.Outcome
    ) async throws -> TitleRecord {
        let record: TitleRecord
        do {
            let url = try MediaURL(text)
            let outcome = try await act(url)
            if !isPrinted {
                try await StandardOutput.shared.write("\(Terminal.printable("\(url)")): \(outcome.sentence)\n")
            }
            record = TitleRecord(text, outcome)
        } catch let error as VaultError {
            try Task.checkCancellation()
            await Terminal.shared.say(error.message(ofURL: number, of: count))
            record = TitleRecord(text, failed: error)
        }
        if isPrinted { try await StandardOutput.shared.write(try JSONText.of(record) + "\n") }
        return record
    }
}
