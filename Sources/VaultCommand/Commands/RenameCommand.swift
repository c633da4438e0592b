import ArgumentParser
import MediaVault
import VaultService

struct RenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Name a title, or several.",
        usage: """
            mediavault rename <title> <name>
            mediavault rename --list <file>
            mediavault rename --from-file-names <title> ... | --collection <name> | --prefix <url> | --all
            """,
        discussion: """
            The name is what list, players and exports show; it is one line of at most 200 characters, sealed like \
            everything else. An empty name brings back the one that the media or the file states. With several titles all \
            are tried.

            A list has a title on each line, its id or URL first, and then its name. Empty lines and those that begin with \
            # are left out.
            """)

    @Argument(
        help: ArgumentHelp("Id or URL of a title, and then its name.", valueName: "title"),
        completion: ServiceCompletion.titles)
    var words: [String] = []

    @Flag(help: "Name titles as their files are named, made readable.")
    var fromFileNames = false

    @Option(help: ArgumentHelp("Name the titles of this list; - is standard input.", valueName: "file"))
    var list: String?

    @OptionGroup var selection: TitleSelection

    @OptionGroup var consent: BulkConsent

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    /// A title, and its new name; nil to name it as its file is named.
    struct Order: Hashable, Sendable {
        let title: String
        let name: String?
    }

    func validate() throws {
        if fromFileNames, list == nil { return try selection.check(beside: words, naming) }
        let isList = list != nil && words.isEmpty && !fromFileNames
        guard isList || list == nil && words.count == 2, !selection.isGiven else {
            throw ValidationError("give a title and its name, or --list, or --from-file-names")
        }
    }

    func run() async throws {
        var orders = fromFileNames ? words.map { Order(title: $0, name: nil) } : []
        if let list {
            orders = try RenamingList.orders(try await ListReader.bytes(of: list, atMost: RenamingList.maxBytes))
        } else if !fromFileNames {
            orders = [Order(title: words[0], name: words[1])]
        }
        let naming = try await naming.naming(of: orders.compactMap { try? TitleName($0.title) }, owner.access.unlocking)
        let (given, selection, consent, output) = (orders, selection, consent, output)
        let failed = try await owner.acting(ifInterrupted: "some names may have changed") { vault in
            var orders = given
            if selection.isGiven {
                let chosen = try await selection.names(in: vault, asking: consent, to: "rename")
                orders = chosen.map { Order(title: $0, name: nil) }
            }
            var failed: ExitStatus?
            for (index, order) in orders.enumerated() {
                do {
                    try await Self.rename(order, naming, in: vault, output)
                } catch let error as VaultError where orders.count > 1 {
                    try Task.checkCancellation()
                    await Terminal.shared.say(error.message(ofURL: index + 1, of: orders.count))
                    failed = failed ?? ExitStatus(error.code)
                }
            }
            return failed
        }
        if let failed { throw AlreadyReported(status: failed) }
    }

    private static func rename(
        _ order: Order, _ naming: TitleNaming, in vault: any VaultClient, _ output: JSONOption
    ) async throws {
        let reference = try await naming.reference(to: TitleName(order.title), in: vault)
        let id = try await vault.id(of: reference)
        var name = order.name
        if name == nil { name = try await vault.resource(reference)?.fileName }
        guard let name else {
            throw VaultError(.invalidArgument, "the file of \(id) has no name that says anything; give a name")
        }
        try await vault.call(Operations.Titles.rename, TitleRequest(id, NameDetails(name: name)))
        guard let renamed = try await vault.resource(reference) else { return }
        let shown = renamed.name.map { "named \($0)" } ?? "without a name"
        try await output.write(ListedDocument(renamed), orText: Terminal.printable("\(id): \(shown)") + "\n")
    }
}

/// A list of titles with their names.
enum RenamingList {
    /// The maximum number of bytes in a list.
    static let maxBytes = 16 << 20

    /// - Throws: ``UsageError`` if the list is too long, is no text, or names no title.
    static func orders(_ bytes: [UInt8]) throws -> [RenameCommand.Order] {
        guard bytes.count <= maxBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("the list must be text of at most \(maxBytes >> 20) MiB; split it into several")
        }
        let orders = text.split(whereSeparator: \.isNewline).compactMap { line -> RenameCommand.Order? in
            let words = line.split(maxSplits: 1, whereSeparator: \.isWhitespace)
            guard let title = words.first, !title.hasPrefix("#") else { return nil }
            return RenameCommand.Order(title: String(title), name: words.count > 1 ? String(words[1]) : "")
        }
        guard !orders.isEmpty else { throw UsageError("the list names no title; give one on each line") }
        return orders
    }
}
