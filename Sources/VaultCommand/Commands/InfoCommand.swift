import ArgumentParser
import MediaVault
import VaultService

struct InfoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Tell what the vault holds of a title.",
        discussion: "Exit code 6 where the vault knows nothing of it. The origin is never asked.")

    @Argument(help: "The title: http or https.")
    var url: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let reference = try await naming.reference(try MediaURL(url), access.unlocking)
        let opener = try await access.opener()
        guard let summary = try await opener.reading({ try await $0.summary(of: reference) }) else {
            throw VaultError(.notHeld, "the vault knows nothing of \(reference); fetch it first")
        }
        let document = ResourceDocument(summary)
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : Self.text(document))
    }

    private static func text(_ document: ResourceDocument) -> String {
        let held = document.held.map { "\($0[0])-\($0[1] - 1)" }.joined(separator: ", ")
        return FactSheet.text([
            ("url", document.url), ("size", document.size.value.map(String.init) ?? "unknown"),
            ("held", held.isEmpty ? "nothing" : held), ("bytes", String(document.bytes)),
            ("type", document.type.value ?? "unknown"), ("etag", document.etag.value ?? "none"),
            ("class", document.class), ("mode", document.mode.value ?? "default"),
            ("generation", String(document.generation)),
        ])
    }
}
