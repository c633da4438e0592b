import ArgumentParser
import MediaVault
import VaultService

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Print the receipts of what was done to the keys, and check them.",
        discussion: """
            Needs neither the index nor a running service. Where there is no keyring any more, or with --without-keys, \
            every signature is checked by the public key that the log names, and that each line follows the one before; \
            only a log that was cut at its end cannot be told then. Exit code 4 where something is wrong.
            """)

    @Flag(help: "Check the log by itself, without unlocking the keyring.")
    var withoutKeys = false

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let place = try access.place.place()
        let hasKeyring = !withoutKeys && Vault.hasKeyring(place)
        let unlock = hasKeyring ? try await access.unlocking.unlock() : nil
        let document = AuditDocument(try await Vault.audit(place, unlock: unlock))
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : AuditSheet.text(document))
        if !document.anchored {
            await Terminal.shared.say("checked without the keyring: whether the log was cut at its end cannot be told")
        }
        guard document.sound else { throw Reported(status: .integrity) }
    }
}
