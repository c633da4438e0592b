import ArgumentParser
import MediaVault
import VaultService

struct ResealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal",
        abstract: "Give titles new keys, and seal every segment of them anew.",
        discussion: """
            For when a title's own key may have leaked; all titles where none is named. Films play on. Those go first whose \
            risk is newest: what was begun, then what the oldest generation wraps, of those what was played last. Room for \
            one segment is enough. What is broken off goes on when the vault is opened again, or the command is run again. \
            Exit code 4 where damage was met, which becomes a gap, or a title does not open and keeps its key.
            """)

    @Argument(help: ArgumentHelp("The titles: http or https; none is all.", valueName: "url"))
    var urls: [String] = []

    @Option(help: ArgumentHelp("Seal at most so many bytes in a second: 500k, 20M, 1G.", valueName: "rate"))
    var limitRate: ByteRate?

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let references = try await naming.references(urls, access.unlocking)
        let finder = try await access.finder(waiting)
        let rate = limitRate?.bytesPerSecond
        let report = try await Interruption.cancelling("what is sealed anew stays so; run it again to go on") {
            try await finder.act { vault in
                var display = ProgressDisplay("reseal")
                let report = try await vault.reseal(references, bytesPerSecond: rate) { step in
                    await display.show(TransferProgress(held: step.bytes, total: step.bytesTotal))
                }
                await display.end()
                return report
            }
        }
        let verdict = ResealText(report)
        for remark in verdict.remarks { await Terminal.shared.say(remark) }
        if !json {
            for (reference, subject) in zip(references, report.subjects) {
                let line = "\(reference.url): title \(subject) in receipts"
                try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
            }
        }
        if json { try await StandardOutput.shared.write(try JSONText.of(report) + "\n") }
        guard verdict.status == .done else { throw Reported(status: verdict.status) }
    }
}

struct ShredCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shred",
        abstract: "Forget titles for good: their keys, and what wrapped them.",
        discussion: """
            What plays ends. The titles' keys are deleted; then a new generation is made, every other key moves to it, and \
            the generations that had wrapped the deleted keys are destroyed: nothing in the vault or on its drive opens \
            them again. With --quick that is left to the next rotation, and the receipt says removed, not destroyed. \
            Copies of vault and keyring that were made before stay what they are. Each leaves a receipt: see keys audit URL. \
            Exit code 4 where a generation had to stay, because it wraps another title's key that does not open.
            """)

    @Argument(help: ArgumentHelp("The titles: http or https.", valueName: "url"))
    var urls: [String]

    @Flag(help: "Leave the generation as it is.")
    var quick = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let references = try await naming.references(urls, access.unlocking)
        let finder = try await access.finder(waiting)
        let isQuick = quick
        let document = try await Interruption.cancelling("what was begun is finished when the vault is opened again") {
            try await finder.act { try await $0.shred(references, quick: isQuick) }
        }
        for title in document.resources {
            guard let problem = title.problem.value else {
                if !json {
                    var line = "\(title.url): \(document.outcome), \(ByteCount.text(title.bytes.value ?? 0)) freed"
                    if let subject = title.subject.value { line += ", title \(subject) in receipts" }
                    try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
                }
                continue
            }
            await Terminal.shared.say(problem.detail ?? problem.title)
        }
        if json { try await StandardOutput.shared.write(try JSONText.of(document) + "\n") }
        let verdict = ShredText(document, isQuick: quick)
        if let remark = verdict.remark { await Terminal.shared.say(remark) }
        guard verdict.status == .done else { throw Reported(status: verdict.status) }
    }
}

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
        try await StandardOutput.shared.write(json ? try JSONText.of(document) + "\n" : AuditText.text(document))
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
