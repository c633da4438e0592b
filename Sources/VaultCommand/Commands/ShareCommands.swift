import ArgumentParser
import MediaVault
import VaultService

struct ShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Share titles with viewers.",
        discussion: """
            A shared title stays shared if it is fetched again, and no longer if it is removed. A shared collection \
            includes what joins it later. To share everything, also what is added later, see viewers add --all. With a running service it needs no key.
            """)

    @OptionGroup var sharing: ShareArguments

    func run() async throws { try await sharing.share(true) }
}

struct UnshareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unshare", abstract: "End the sharing of titles with viewers.",
        discussion: "Links that a viewer has to them play nothing from now on; what is playing may play to its end.")

    @OptionGroup var sharing: ShareArguments

    func run() async throws { try await sharing.share(false) }
}

/// The arguments of a command that shares titles, or stops sharing them.
struct ShareArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Ids or URLs of titles.", valueName: "title"), completion: ServiceCompletion.titles)
    var titles: [String] = []

    @OptionGroup var selection: TitleSelection

    @Option(
        help: ArgumentHelp("The viewer, by name; may be repeated.", valueName: "name"),
        completion: ServiceCompletion.viewers)
    var with: [String] = []

    @Flag(help: "All viewers.")
    var withAll = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        try selection.check(beside: titles, naming)
        guard with.isEmpty == withAll else { throw ValidationError("name viewers by --with, or give --with-all") }
    }

    func share(_ isShared: Bool) async throws {
        let names = try titles.map { try TitleName($0) }
        let naming = try await naming.naming(of: names, owner.access.unlocking)
        let (selection, with) = (selection, with)
        let changed = try await owner.acting(ifInterrupted: "some titles may be shared already") { vault in
            // All names are resolved before anything changes, so that nothing is shared if one is misspelt.
            var viewers: [String?] = []
            for name in with { viewers.append(try await ViewerName.id(of: name, in: vault)) }
            let orders: [(String?) -> ShareOrder]
            if let name = selection.collection {
                let id = try await CollectionChoice.find(name, in: vault).id
                orders = [{ ShareOrder(collection: id, viewer: $0, shared: isShared) }]
            } else {
                let titles = try await Self.ids(of: names, selection, naming, in: vault)
                orders = stride(from: 0, to: titles.count, by: ShareOrder.maxCount).map { first in
                    let some = Array(titles[first..<min(first + ShareOrder.maxCount, titles.count)])
                    return { ShareOrder(some, viewer: $0, shared: isShared) }
                }
            }
            var changed = 0
            for viewer in viewers.isEmpty ? [nil] : viewers {
                for order in orders { changed += try await vault.call(Operations.Viewers.share, order(viewer)).changed }
            }
            return changed
        }
        let isWhole = selection.collection != nil
        let what = isWhole ? "the collection is" : Count.of(changed, "title")
        let whom = isWhole ? " with \(Count.of(changed, isShared ? "more viewer" : "viewer"))" : ""
        await Terminal.shared.say("\(what) \(isShared ? "shared" : "no longer shared")\(whom)")
        try await output.writeIfJSON(["changed": changed])
    }

    private static func ids(
        of names: [TitleName], _ selection: TitleSelection, _ naming: TitleNaming, in vault: any VaultClient
    ) async throws -> [TitleID] {
        guard !selection.isGiven else { return try await selection.titles(in: vault).compactMap(\.id) }
        var ids: [TitleID] = []
        for reference in try await naming.references(to: names, in: vault) {
            guard let id = try await vault.resource(reference)?.id else {
                throw VaultError(.notHeld, "the vault has no record of \(reference); fetch it first")
            }
            ids.append(id)
        }
        return ids
    }
}
