import ArgumentParser
import MediaVault
import VaultService

struct CollectionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collection", abstract: "Manage the collections of titles that belong together.",
        discussion: """
            Titles of one series, album, feed or numbered folder stand together by themselves. share, pin, mode, remove, \
            export and url take a collection by --collection.
            """,
        subcommands: [CollectionListCommand.self, CollectionRenameCommand.self, CollectionMoveCommand.self])
}

struct CollectionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the collections.",
        discussion: "list --group shows their titles, too.", aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await access.asking { try await $0.call(Operations.Collections.list) }
        if document.collections.isEmpty, !output.isJSON { await Terminal.shared.say("there are no collections") }
        try await output.write(document, orText: CollectionText.table(document.collections))
    }
}

struct CollectionRenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Name a collection.",
        discussion: "An empty name brings back the one that its titles state.")

    @Argument(help: CollectionChoice.help, completion: ServiceCompletion.collections)
    var collection: String

    @Argument(help: "The name: one line of at most 200 characters.")
    var name: String

    @OptionGroup var owner: OwnerAccess

    func run() async throws {
        let (collection, name) = (collection, name)
        try await owner.acting(ifInterrupted: "the name of some titles' collection may have changed") { vault in
            let id = try await CollectionChoice.find(collection, in: vault).id
            try await vault.call(Operations.Collections.change, CollectionChange(id, name: name))
        }
        await Terminal.shared.say("the collection has its new name")
    }
}

struct CollectionMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Move titles into a collection of your own.",
        discussion: """
            The collection begins with its first title and ends with its last. With --back the titles belong where their \
            series, album, feed or folder says. A title that moves is shared with the viewers of its new collection, and \
            no longer with those of its former one.
            """)

    @Argument(
        help: ArgumentHelp("Ids or URLs of titles.", valueName: "title"), completion: ServiceCompletion.titles)
    var titles: [String]

    @Option(
        help: ArgumentHelp("The name of the collection.", valueName: "name"),
        completion: ServiceCompletion.collections)
    var to: String?

    @Flag(help: "Move the titles back to where they belong by themselves.")
    var back = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    func validate() throws {
        guard (to == nil) == back else { throw ValidationError("give --to, or --back") }
        if let to, to.allSatisfy(\.isWhitespace) { throw ValidationError("--to must be a name") }
    }

    func run() async throws {
        let names = try titles.map { try TitleName($0) }
        let naming = try await naming.naming(of: names, owner.access.unlocking)
        let to = to
        try await owner.acting(ifInterrupted: "some titles may have moved") { vault in
            var ids: [TitleID] = []
            for reference in try await naming.references(to: names, in: vault) {
                ids.append(try await vault.id(of: reference))
            }
            try await vault.call(Operations.Collections.move, CollectionMove(ids, to: to))
        }
        await Terminal.shared.say("\(Count.of(titles.count, "title")) moved")
    }
}
