import ArgumentParser
import MediaVault
import VaultService

struct DestroyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "destroy",
        abstract: "Make the whole vault unreadable, for ever.",
        discussion: """
            Every title's key is deleted, the keyring's file is overwritten and removed, and the segments go. What plays \
            ends, and so should the service. The vault's id, which status prints, must be typed, or given by --confirm. \
            Copies of the keyring and its backups open what they opened: destroy them, too. The audit log stays.
            """)

    @Option(help: ArgumentHelp("The id of the vault that is to be destroyed.", valueName: "id"))
    var confirm: String?

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let finder = try await access.finder(waiting)
        let given = confirm
        let document = try await Interruption.cancelling("run it again to be sure that it is done") {
            try await finder.act { vault in
                let id = try await vault.status().vault
                let confirmed = try await Self.confirmation(given, of: id)
                return try await vault.destroy(vaultID: confirmed)
            }
        }
        if json { try await StandardOutput.shared.write(try JSONText.of(document) + "\n") }
        await Terminal.shared.say("vault \(document.vault) is destroyed, with the keys of \(document.resources) titles")
        if document.backups > 0 {
            await Terminal.shared.say(
                "\(document.backups) backups of its keyring were made: each opens a copy of the vault's folder still")
        }
    }

    /// The id as it was given, or is typed now.
    private static func confirmation(_ given: String?, of id: String) async throws -> String {
        if let given { return given }
        guard Terminal.shared.canAsk else {
            throw UsageError("there is no terminal to confirm at; give the vault's id by --confirm")
        }
        await Terminal.shared.say("vault \(id) will be unreadable for ever; type its id to go on")
        guard let typed = readLine(strippingNewline: true) else { throw UsageError("nothing was typed") }
        return typed
    }
}
