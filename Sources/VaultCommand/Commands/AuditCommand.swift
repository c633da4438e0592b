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
            only a log that was cut at its end cannot be told then. Exit code 4 where something is wrong. With URLs only \
            the receipts about these titles are printed, whether they are still held or not; that needs the index and the \
            keyring, and receipts from before keys rotate --locator are not among them.
            """)

    @Argument(help: ArgumentHelp("The titles: http or https; none is every receipt.", valueName: "url"))
    var urls: [String] = []

    @Flag(help: "Check the log by itself, without unlocking the keyring.")
    var withoutKeys = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let document = AuditDocument(try await urls.isEmpty ? wholeLog() : aboutTitles())
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : AuditSheet.text(document))
        if !document.anchored {
            await Terminal.shared.say("checked without the keyring: whether the log was cut at its end cannot be told")
        }
        guard document.sound else { throw Reported(status: .integrity) }
    }

    private func wholeLog() async throws -> AuditReport {
        let place = try access.place.place()
        let hasKeyring = !withoutKeys && Vault.hasKeyring(place)
        let unlock = hasKeyring ? try await access.unlocking.unlock() : nil
        return try await Vault.audit(place, unlock: unlock)
    }

    private func aboutTitles() async throws -> AuditReport {
        guard !withoutKeys else {
            throw UsageError("the receipts about a title are found with the keyring alone; leave out --without-keys")
        }
        let references = try await naming.references(urls, access.unlocking)
        return try await access.opener().reading { try await $0.audit(about: references) }
    }
}
