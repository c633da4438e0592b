import ArgumentParser
import MediaVault
import VaultService

struct KeysListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Tell how the keys stand: each generation, what needs it, and what is left to do.",
        discussion: "Works beside a running service, and changes nothing.")

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let document = try await document()
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : KeysSheet.text(document))
    }

    /// The service knows which act works, and needs no key; without one keyring and index are read.
    private func document() async throws -> KeysDocument {
        do {
            return try await ServedVault(ControlClient(folder: try access.place.vault())).keys()
        } catch is ServiceGone {
            return try await access.opener().reading { try await LocalVault($0).keys() }
        }
    }
}
