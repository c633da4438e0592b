import ArgumentParser
import MediaVault
import VaultService

struct ViewersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "viewers", abstract: "Manage the people who see only what is shared with them.",
        discussion: "share and unshare say what each of them sees.",
        subcommands: [
            ViewersAddCommand.self, ViewersListCommand.self, ViewersRenameCommand.self, ViewersPINCommand.self,
            ViewersLanguagesCommand.self,
            ViewersUnlockCommand.self, ViewersLinkCommand.self, ViewersRemoveCommand.self,
        ])
}

struct ViewersAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a viewer.",
        discussion: """
            A viewer signs in by name and PIN, sees the titles that are shared with them, and never where these come \
            from. Without a PIN only a ticket of the owner lets them in. With a running service it needs no key.
            """)

    @Argument(help: "The name: one line of at most 100 characters.")
    var name: String

    @OptionGroup var pin: PINOptions

    @Flag(name: .customLong("pin"), help: "Ask for a PIN at the terminal, twice.")
    var asksPIN = false

    @Flag(help: "Share all titles with them, also those that are added later.")
    var all = false

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        if asksPIN, pin.pinFile != nil { throw ValidationError("give --pin or --pin-file, not both") }
    }

    func run() async throws {
        let given = try await pin.pin(asks: asksPIN, owner.access.unlocking)
        let order = ViewerOrder(name: name, pin: given, sharesAll: all)
        let added = try await owner.acting(
            ifInterrupted: "the viewer may have been added; viewers list shows it"
        ) { try await $0.call(Operations.Viewers.add, order) }
        try await output.writeIfJSON(added)
        let entry =
            added.hasPIN
            ? "with a PIN" : "without a PIN; mediavault viewers link prints a link that signs them in"
        await Terminal.shared.say("added viewer \(Terminal.printable(added.name)), \(entry)")
    }
}

struct ViewersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the viewers, and how many titles are shared with each.",
        discussion: """
            Shows no PIN. FAILED is the number of failed sign-ins since the viewer last signed in from the same address \
            or browser.
            """, aliases: ["ls"])

    @Flag(help: "List from where someone failed to sign in with each name, instead.")
    var failed = false

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await access.asking { try await $0.call(Operations.Viewers.list) }
        if document.damaged > 0 {
            await Terminal.shared.say(
                "\(Count.of(document.damaged, "record")) of viewers cannot be read; they admit and share nothing")
        }
        guard !output.isJSON else { return try await StandardOutput.shared.writeJSON(document) }
        if document.viewers.isEmpty { await Terminal.shared.say("there are no viewers") }
        guard !failed else {
            return try await StandardOutput.shared.write(
                IssuedText.table(["NAME", "FROM", "FAILED", "LAST", "NEXT"], document.viewers.flatMap(Self.failures)))
        }
        let rows = document.viewers.map { viewer in
            [
                IssuedText.day(viewer.created), viewer.hasPIN ? "yes" : "no",
                viewer.sharesAll
                    ? "all"
                    : "\(viewer.titles)"
                        + (viewer.collections > 0 ? " + \(Count.of(viewer.collections, "collection"))" : ""),
                "\(viewer.failures.reduce(0) { $0 + $1.count })", Terminal.printable(viewer.name),
            ]
        }
        try await StandardOutput.shared.write(IssuedText.table(["ADDED", "PIN", "TITLES", "FAILED", "NAME"], rows))
    }

    private static func failures(of viewer: ViewerDocument) -> [[String]] {
        viewer.failures.map { failed in
            let place = (failed.address ?? "this machine") + (failed.knownDevice ? ", signed in before" : "")
            return [
                Terminal.printable(viewer.name), place, "\(failed.count)", "\(failed.last)",
                failed.until.map { "\($0)" } ?? "at once",
            ]
        }
    }
}

struct ViewersRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "rename", abstract: "Give a viewer another name.")

    @Argument(help: ViewerName.help, completion: ServiceCompletion.viewers)
    var name: String

    @Argument(help: "The new name: one line of at most 100 characters.")
    var newName: String

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let (name, newName) = (name, newName)
        let changed = try await owner.acting(ifInterrupted: "the viewer may have changed") { vault in
            let id = try await ViewerName.id(of: name, in: vault)
            return try await vault.call(Operations.Viewers.change, ViewerChange(id: id, name: newName))
        }
        await Terminal.shared.say("the viewer is named \(Terminal.printable(changed.name)) from now on")
    }
}

struct ViewersLanguagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "languages", abstract: "Set the languages in which a viewer hears and reads titles.",
        discussion: "The player chooses them if a title has them. Without any, those of config apply.")

    @Argument(help: ViewerName.help, completion: ServiceCompletion.viewers)
    var name: String

    @Argument(help: ArgumentHelp("Languages, the favourite first, such as de,en.", valueName: "languages"))
    var languages: [String] = []

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let (name, wanted) = (name, languages.separatedAtCommas)
        let changed = try await owner.acting(ifInterrupted: "the viewer may have changed") { vault in
            let id = try await ViewerName.id(of: name, in: vault)
            return try await vault.call(Operations.Viewers.change, ViewerChange(id: id, languages: wanted))
        }
        let shown = changed.languages.isEmpty ? "those of the vault" : changed.languages.joined(separator: ", ")
        await Terminal.shared.say("languages of \(Terminal.printable(changed.name)): \(shown)")
    }
}

struct ViewersPINCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Give a viewer another PIN, or take it away.",
        discussion: """
            Asks for the PIN at the terminal, twice, unless an option says where it is. A viewer who has to wait after \
            wrong tries can sign in with the new PIN at once; viewers unlock does so without another PIN.
            """)

    @Argument(help: ViewerName.help, completion: ServiceCompletion.viewers)
    var name: String

    @OptionGroup var pin: PINOptions

    @Flag(help: "Take the PIN away: only a ticket of the owner lets the viewer in.")
    var none = false

    @OptionGroup var owner: OwnerAccess

    func validate() throws {
        if none, pin.pinFile != nil { throw ValidationError("give --pin-file or --none, not both") }
    }

    func run() async throws {
        let given = none ? nil : try await pin.pin(asks: true, owner.access.unlocking)
        let name = name
        let changed = try await owner.acting(ifInterrupted: "the viewer may have changed") { vault in
            let id = try await ViewerName.id(of: name, in: vault)
            return try await vault.call(
                Operations.Viewers.change, ViewerChange(id: id, pin: given, hasPIN: given == nil ? false : nil))
        }
        await Terminal.shared.say(
            "viewer \(Terminal.printable(changed.name)) has \(changed.hasPIN ? "a new PIN" : "no PIN any more")")
    }
}

struct ViewersUnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Forget the failed sign-ins with the name of a viewer.",
        discussion: """
            The next try is accepted at once, from wherever it comes. viewers list --failed shows from where there were \
            failed ones.
            """)

    @Argument(help: ViewerName.help, completion: ServiceCompletion.viewers)
    var name: String

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let name = name
        let changed = try await owner.acting(ifInterrupted: "the viewer may have changed") { vault in
            let id = try await ViewerName.id(of: name, in: vault)
            return try await vault.call(Operations.Viewers.change, ViewerChange(id: id, unlock: true))
        }
        await Terminal.shared.say("viewer \(Terminal.printable(changed.name)) can sign in at once")
    }
}

struct ViewersLinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link", abstract: "Print a link that signs a viewer in, without a PIN.",
        discussion: """
            Send it to them, or open it on their device: the first browser that opens it is signed in, if it does so \
            within a minute. The service must run, on this machine's loopback address or with TLS.
            """)

    @Argument(help: ViewerName.help, completion: ServiceCompletion.viewers)
    var name: String

    @OptionGroup var reach: BrowserAddress

    @OptionGroup var access: VaultAccess

    func run() async throws {
        let service = try await SignInLink.service(of: access)
        let id = try await ViewerName.id(of: name, in: service.vault)
        try await service.link(listen: reach.listen, viewer: id).print()
    }
}

struct ViewersRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove viewers, with how far they have played titles.",
        discussion: "Their links play nothing from now on. At a terminal it asks first.", aliases: ["rm"])

    @Argument(help: ViewerName.help, completion: ServiceCompletion.viewers)
    var names: [String]

    @Flag(help: "Do not ask first.")
    var yes = false

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let (names, asks) = (names, !yes && Terminal.shared.canPrompt)
        let count = try await owner.acting(ifInterrupted: "viewers list shows who is left") { vault in
            var ids: Set<String> = []
            for name in names { ids.insert(try await ViewerName.id(of: name, in: vault)) }
            if asks {
                let what = Count.of(ids.count, "viewer") + ": " + names.joined(separator: ", ")
                try await BulkConsent.ask(to: "remove", what)
            }
            for id in ids { try await vault.call(Operations.Viewers.remove, ViewerSelection(id)) }
            return ids.count
        }
        await Terminal.shared.say("\(Count.of(count, "viewer")) removed")
    }
}

/// The option that names the source of a viewer's PIN. The PIN itself is never an argument, because other processes can
/// read arguments.
struct PINOptions: ParsableArguments {
    @Option(help: ArgumentHelp("File that contains the PIN.", valueName: "file"), completion: .file())
    var pinFile: String?

    /// Returns the PIN; nil if no PIN is given.
    ///
    /// - Parameter asks: whether to prompt for the PIN at the terminal if no file is named.
    func pin(asks: Bool, _ unlocking: UnlockOptions) async throws -> PIN? {
        if let pinFile {
            let path = try ProcessEnvironment.current.absolute(pinFile)
            return try await PIN.read(path, allowLoose: unlocking.allowLooseKeyFile)
        }
        return asks ? try PIN(try await PassphrasePrompt.ask(.pin)) : nil
    }
}

/// The name or id by which an argument identifies a viewer.
enum ViewerName {
    static let help = ArgumentHelp("The name of a viewer, or the id, as list --json prints it.", valueName: "name")

    /// Returns the id of a viewer.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if no viewer has the name or id.
    static func id(of name: String, in vault: any VaultClient) async throws -> String {
        let viewers = try await vault.call(Operations.Viewers.list).viewers
        let folded = name.lowercased()
        let found = viewers.first { $0.name.lowercased() == folded } ?? viewers.first { $0.id == name }
        guard let found else {
            throw VaultError(
                .notHeld, "there is no viewer with this name; mediavault viewers list shows the existing ones")
        }
        return found.id
    }
}
