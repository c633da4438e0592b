import ArgumentParser
import MediaVault
import VaultService

struct ResealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal",
        abstract: "Give titles new keys, and reseal all their segments.",
        discussion: """
            Use this if a title's own key may have leaked. Without titles it reseals all titles. Playback continues. The \
            titles at highest risk go first: those already begun, then those under the oldest generation, most \
            recently played first. Free space for one segment is enough. An interrupted reseal continues when the \
            vault is opened again, or the command is run again. The exit code is 4 if damage was found, which becomes \
            a gap, or a title does not open and keeps its key.
            """)
    @Argument(
        help: ArgumentHelp("Ids or URLs of titles (default: all titles).", valueName: "title"),
        completion: ServiceCompletion.titles)
    var titles: [String] = []

    @Option(
        help: ArgumentHelp("Maximum rate of sealing: \(ByteRate.forms).", valueName: "rate"))
    var limitRate: ByteRate?

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let names = try titles.map { try TitleName($0) }
        let naming = try await naming.naming(of: names, owner.access.unlocking)
        let rate = limitRate?.bytesPerSecond
        let (references, report) = try await owner.acting(
            ifInterrupted: "finished segments are kept; run it again to continue"
        ) { vault in
            let references = try await naming.references(to: names, in: vault)
            var display = ProgressDisplay("reseal")
            let report = try await vault.follow(
                Operations.Keys.reseal, ResealRequest(references, bytesPerSecond: rate)
            ) { step in
                await display.show(TransferProgress(held: step.bytes, total: step.bytesTotal))
            }
            await display.end()
            return (references, report)
        }
        let verdict = ResealText(report)
        for remark in verdict.remarks { await Terminal.shared.say(remark) }
        if !output.isJSON {
            for (reference, subject) in zip(references, report.subjects) {
                let line = "\(reference.url): title \(subject) in receipts"
                try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
            }
        }
        try await output.writeIfJSON(report)
        guard verdict.status == .done else { throw AlreadyReported(status: verdict.status) }
    }
}

struct ShredCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shred",
        abstract: "Delete titles and their keys so that they can never be opened again.",
        discussion: """
            Playback of the titles ends. Their keys are deleted, a new generation is created, all other keys are moved \
            to it, and the generations that wrapped the deleted keys are destroyed: nothing in the vault or on its \
            drive opens the titles again. With --quick that is left to the next rotation, and the receipt says \
            removed, not destroyed. Earlier copies of vault and keyring still open the titles. Each title leaves a \
            receipt: see keys audit TITLE. Named links to a title are listed before; they stay, and name its URL, unless \
            --links revokes them. The exit code is 4 if a generation had to stay because it wraps another \
            title's key that does not open.
            """)
    @Argument(
        help: ArgumentHelp("Ids or URLs of titles.", valueName: "title"), completion: ServiceCompletion.titles)
    var titles: [String] = []

    @OptionGroup var selection: TitleSelection

    @OptionGroup var consent: BulkConsent

    @Flag(help: "Do not change the generation.")
    var quick = false

    @OptionGroup var links: LinkOption

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws { try selection.check(beside: titles, naming) }

    func run() async throws {
        let names = try titles.map { try TitleName($0) }
        let naming = try await naming.naming(of: names, owner.access.unlocking)
        let (selection, consent, isQuick, withLinks) = (selection, consent, quick, links.links)
        let notice = links.notice
        let document = try await owner.acting(ifInterrupted: "it continues when the vault is opened again") {
            vault in
            guard selection.isGiven else {
                let references = try await naming.references(to: names, in: vault)
                for reference in references { try await notice.tell(of: reference, in: vault) }
                return try await vault.call(
                    Operations.Keys.shred, ShredRequest(references, quick: isQuick, links: withLinks))
            }
            let chosen = try await selection.titles(in: vault)
            guard !chosen.isEmpty else { throw UsageError("the vault has no title, so there is none to shred") }
            try await consent.ask(to: "shred", chosen)
            let references = try await naming.references(to: chosen.compactMap(\.id).map(TitleName.id), in: vault)
            for reference in references { try await notice.tell(of: reference, in: vault) }
            return try await vault.call(
                Operations.Keys.shred, ShredRequest(references, quick: isQuick, links: withLinks))
        }
        for title in document.resources {
            guard let problem = title.problem else {
                if !output.isJSON {
                    var line = "\(title.url): \(document.outcome.rawValue), \(ByteCount.text(title.bytes ?? 0)) freed"
                    if let subject = title.subject { line += ", title \(subject) in receipts" }
                    try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
                }
                continue
            }
            await Terminal.shared.say(problem.error?.text ?? problem.detail ?? problem.title)
        }
        try await output.writeIfJSON(document)
        let verdict = ShredText(document, isQuick: quick)
        if let remark = verdict.remark { await Terminal.shared.say(remark) }
        guard verdict.status == .done else { throw AlreadyReported(status: verdict.status) }
    }
}

struct DestroyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "destroy",
        abstract: "Make the whole vault unreadable forever.",
        discussion: """
            Deletes every title's key, overwrites and removes the keyring file, and removes the segments. Playback \
            ends; then stop the service. The vault's id, which status prints, must be typed, or given by --confirm. \
            Copies and backups of the keyring still open older copies of the vault: destroy them, too. The audit log \
            stays.
            """)

    @Option(help: ArgumentHelp("Id of the vault to destroy.", valueName: "id"))
    var confirm: String?

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let given = confirm
        let document = try await owner.acting(ifInterrupted: "run it again to make sure that it is done") {
            vault in
            let id = try await vault.call(Operations.Upkeep.status).vault
            let confirmed = try await Self.confirmation(given, of: id)
            return try await vault.call(Operations.Keys.destroy, DestructionRequest(vault: confirmed))
        }
        try await output.writeIfJSON(document)
        for sentence in DestructionText.sentences(document) { await Terminal.shared.say(sentence) }
    }

    /// Returns the id given as an option, else the one that the user types.
    private static func confirmation(_ given: String?, of id: String) async throws -> String {
        if let given { return given }
        guard Terminal.shared.canPrompt else {
            throw UsageError("not a terminal; use --confirm with the vault's id")
        }
        await Terminal.shared.say("vault \(id) will be unreadable forever; type its id to continue")
        guard let typed = try await TypedAnswer.read() else { throw UsageError("nothing was typed") }
        return typed
    }
}

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Print and check the receipts of key operations.",
        discussion: """
            Needs neither the index nor a running service; with one, it needs no key. If there is no keyring any more, or with --without-keys, it \
            checks every signature against the public key that the log names, and that each line follows the one \
            before; only a log that was cut at its end goes unnoticed then. The exit code is 4 if something is wrong. \
            With titles it prints only their receipts, by URL also of those that are no longer held; that needs the \
            index and the keyring, and leaves out receipts from before keys rotate --locator.
            """)

    @Argument(
        help: ArgumentHelp("Ids or URLs of titles (default: every receipt).", valueName: "title"),
        completion: ServiceCompletion.titles)
    var titles: [String] = []

    @Flag(help: "Check the log alone, without unlocking the keyring.")
    var withoutKeys = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let report = try await titles.isEmpty ? wholeLog() : aboutTitles()
        try await output.write(report, orText: AuditText.text(report))
        if !report.isAnchored {
            await Terminal.shared.say("checked without the keyring: a log that was cut at its end goes unnoticed")
        }
        guard report.isSound else { throw AlreadyReported(status: .integrity) }
    }

    /// Returns the checked log. The running service reads it if no key is named; otherwise, this process reads it with
    /// the keyring.
    private func wholeLog() async throws -> AuditReport {
        try naming.check([])
        if !withoutKeys, let service = try await access.keylessService() {
            return try await service.call(Operations.Keys.audit, AuditSelection())
        }
        let place = try access.place.place()
        let hasKeyring = !withoutKeys && KeyAdministration.hasKeyring(place)
        let unlock = hasKeyring ? try await access.unlocking.unlock() : nil
        let report = try await KeyAdministration.audit(place, unlock: unlock)
        // An empty log counts as sound, but a folder without a vault proves nothing.
        if report.receipts.isEmpty, report.faults.isEmpty { try await place.requireVault() }
        return report
    }

    private func aboutTitles() async throws -> AuditReport {
        guard !withoutKeys else {
            throw UsageError("the receipts of a title can be found only with the keyring; leave out --without-keys")
        }
        let names = try titles.map { try TitleName($0) }
        let naming = try await naming.naming(of: names, access.unlocking)
        return try await access.opener().reading { vault in
            try await vault.keys.audit(about: naming.references(to: names, in: LocalVault(vault)))
        }
    }
}
