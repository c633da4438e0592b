import ArgumentParser
import MediaVault
import VaultService

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Tell where each byte of a title's last answers came from.",
        discussion: """
            The service remembers its last answers as long as it runs: which bytes were opened from the vault, and \
            which came from the origin. Without a service only what is held is told. Exit code 6 where the vault \
            knows nothing of the title. The origin is never asked.
            """)

    @Argument(help: "The title: http or https.")
    var url: String

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let reference = try await naming.reference(try MediaURL(url), access.unlocking)
        let document = try await explanation(of: reference)
        try await StandardOutput.shared.write(
            json ? try JSONText.of(document) + "\n" : ExplanationSheet.text(document))
    }

    /// The service knows what it answered; without one the index is read.
    private func explanation(of reference: MediaReference) async throws -> ExplanationDocument {
        let client = ControlClient(folder: try access.place.vault())
        do {
            return try await ServedVault(client).explanation(reference)
        } catch is ServiceGone {
            guard let summary = try await access.opener().reading({ try await $0.summary(of: reference) }) else {
                throw VaultError(.notHeld, "the vault knows nothing of \(reference); fetch it first")
            }
            return ExplanationDocument(summary, url: reference.url.absoluteString, answers: [])
        }
    }
}
