import ArgumentParser
import MediaVault

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a title's plaintext into a file: all of it, or no file.",
        discussion: "Only what is held is written; the origin is never asked. Exit code 6 where bytes are missing.")

    @Argument(help: "The title: http or https.")
    var url: String

    @Argument(help: "The file to make. It is readable to its owner alone.")
    var file: String

    @Flag(help: "Replace the file if it is there.")
    var force = false

    @OptionGroup var access: VaultAccess

    func run() async throws {
        guard file != "-" else { throw UsageError("export makes a file; for standard output there is cat") }
        guard !file.isEmpty else { throw UsageError("the file has no name; name one") }
        let url = try MediaURL(url)
        let path = AbsolutePath.of(file, from: Surroundings.current.workingDirectory)
        let (opener, isForced) = (try await access.opener(), force)
        try await Interruption.cancelling("no file was made") {
            try await opener.reading {
                try await Self.export(MediaReference(url), to: path, replacing: isForced, from: $0)
            }
        }
    }

    /// Exports a title, and shows how far it is.
    static func export(
        _ reference: MediaReference, to path: String, replacing: Bool, from vault: Vault
    ) async throws {
        var display = ProgressDisplay(path.split(separator: "/").last.map(String.init) ?? path)
        try await vault.export(reference, to: path, replacing: replacing) { step in
            await display.show(TransferProgress(held: step.written, total: step.total))
        }
        await display.end()
    }
}
