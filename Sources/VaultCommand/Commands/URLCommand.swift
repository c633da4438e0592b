import ArgumentParser
import Foundation
import MediaVault
import VaultModel
import VaultService

struct URLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "url",
        abstract: "Print links that play titles through the service.",
        discussion: """
            Of a URL it needs only the keyring: neither the vault, nor the origin, nor a running service. With an id, \
            --content-id or --header-file the link plays exactly that title as it was stored; it contains none of the \
            header fields, so fetch some of the title with them first.

            Links with a --name are listed and revoked by the command links, and may be valid for ever: for bookmarks \
            of a TV. The vault records them, so that its service or its key is needed.
            """)

    @Argument(help: ArgumentHelp("Ids or URLs of titles.", valueName: "title"), completion: ServiceCompletion.titles)
    var titles: [String] = []

    @OptionGroup var selection: TitleSelection

    @Option(
        help: ArgumentHelp(
            "How long the links stay valid: 90s, 24h, 7d, a day such as 2027-01-31; with --name also never.",
            valueName: "time"))
    var expires = "24h"

    @Option(help: "A name by which to list and revoke the links.")
    var name: String?

    @Flag(name: .customLong("m3u"), help: "Print a playlist (M3U) with the names of the titles.")
    var isPlaylist = false

    @Option(
        help: ArgumentHelp(
            "Address of the service (MEDIAVAULT_LISTEN; default: that of the running service, else 127.0.0.1:8300).",
            valueName: "host:port"))
    var listen: String?

    @Flag(help: "The service uses TLS; detected for a service that runs here.")
    var tls = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var owner: OwnerAccess

    @Flag(help: "Print a JSON object for each link.")
    var json = false

    func validate() throws {
        try selection.check(beside: titles, naming)
        guard !json || !isPlaylist else { throw ValidationError("--json and --m3u cannot be combined") }
    }

    func run() async throws {
        let names = try titles.map { try TitleName($0) }
        for case .url(let url) in names where url.hasCredentials {
            throw UsageError("a playback link cannot contain a user name and password; leave them out of the URL")
        }
        let naming = try await naming.naming(of: names, owner.access.unlocking)
        let expiry = try ExpiryArgument.parse(expires)
        if name == nil { try ExpiryArgument.checkUnnamed(expiry) }
        let (service, isMissing) = try await service()
        let linked = try await linked(names, naming, LinkDetails(name: name, expiry))
        let text: String
        if isPlaylist {
            text = M3UPlaylist.text(linked.entries(at: service), isShown: StandardOutput.shared.isTerminal)
        } else {
            text = try linked.records(at: service).map { (json ? try JSONText.of($0) : $0.link) + "\n" }.joined()
        }
        try await StandardOutput.shared.write(text)
        if isMissing { await Self.warnOfNoService() }
        if let id = linked.links.id, let name {
            await Terminal.shared.say(
                "recorded \(Count.of(linked.titles.count, "link")) under the name \(name) (id \(id))")
        }
    }

    /// Creates the links. The keyring alone suffices unless titles are named by id or links have a name, both of which
    /// only the vault knows.
    private func linked(_ names: [TitleName], _ naming: TitleNaming, _ details: LinkDetails) async throws
        -> LinkedTitles
    {
        if name != nil {
            return try await owner.acting(ifInterrupted: "links may have been created; links list shows them") {
                try await linked(names, naming, details, in: $0)
            }
        }
        if let running = try await owner.access.runningService() {
            return try await linked(names, naming, details, in: running)
        }
        let urls = names.compactMap { if case .url(let url) = $0 { url } else { nil } }
        guard !isPlaylist, !selection.isGiven, urls.count == names.count else {
            return try await owner.access.opener().reading {
                try await linked(names, naming, details, in: LocalVault($0))
            }
        }
        let tokens = try await owner.access.tokenIssuer()
        let end = try ExpiryArgument.parse(expires).endOfUnnamed(now: WallClock.now())
        let references = urls.map { MediaReference($0, contentID: naming.contentID, fields: naming.fields) }
        let paths = try references.map { try tokens.playbackPath(for: $0, expires: end) }
        return LinkedTitles(
            titles: references.map { LinkedTitles.Title(url: $0.url) }, links: LinkDocument(paths: paths, expires: end))
    }

    private func linked(
        _ names: [TitleName], _ naming: TitleNaming, _ details: LinkDetails, in vault: any VaultClient
    ) async throws -> LinkedTitles {
        var (references, titles): ([MediaReference], [LinkedTitles.Title]) = ([], [])
        if selection.isGiven {
            for title in try await selection.titles(in: vault) {
                let url = try MediaURL(title.url)
                let reference =
                    title.id.map { MediaReference($0, url: url, contentID: title.contentID) }
                    ?? MediaReference(url, contentID: title.contentID)
                references.append(reference)
                titles.append(LinkedTitles.Title(title, url))
            }
            guard !titles.isEmpty else { return LinkedTitles(titles: [], links: LinkDocument(paths: [], expires: nil)) }
        }
        for name in names {
            let reference = try await naming.reference(to: name, in: vault)
            references.append(reference)
            let known = isPlaylist ? try await vault.resource(reference).map { ListedDocument($0) } : nil
            titles.append(known.map { LinkedTitles.Title($0, reference.url) } ?? LinkedTitles.Title(url: reference.url))
        }
        return LinkedTitles(titles: titles, links: try await vault.createLinks(to: references, details))
    }

    /// Returns the service's scheme and authority, and whether the service is neither named nor running.
    private func service() async throws -> (address: String, isMissing: Bool) {
        // A missing vault or folder is not an error, because a link can be created without a vault.
        let folder = try? owner.access.place.vault()
        let running: ServiceRecord? = if let folder { try await ServiceProbe.running(in: folder) } else { nil }
        // Port 0 means that the system chose the port when the service started, so it is ignored here.
        guard let named = try ListenAddress.named(listen)?.reachable, named.port != 0 else {
            return (running?.address ?? "http\(tls ? "s" : "")://\(ListenAddress.standard)", running == nil)
        }
        let secure = "https://\(named)"
        return (tls || running?.address == secure ? secure : "http://\(named)", false)
    }
}

extension URLCommand {
    /// Reports that no service plays the links yet, or that the program at the default address does not serve this
    /// vault.
    private static func warnOfNoService() async {
        let address = ListenAddress.standard
        await Terminal.shared.say(
            await ServiceProbe.isAnswered(at: address)
                ? "what listens at \(address) does not serve this vault, and will refuse the links; start a service of this "
                    + "vault at another address (mediavault serve --listen)"
                : "no service of this vault is running; the links play once one does (mediavault serve)")
    }
}

/// Titles, and the links that were created for them in the same order.
struct LinkedTitles: Sendable {
    struct Title: Sendable {
        let url: MediaURL
        let name: String?
        /// The playing time in seconds; nil if it is unknown.
        let duration: Int64?

        /// Creates an entry for a title of which only the URL is known.
        init(url: MediaURL) { (self.url, name, duration) = (url, nil, nil) }

        init(_ title: ListedDocument, _ url: MediaURL) {
            self.url = url
            name = title.name ?? title.fallbackName
            duration = title.duration.map { ($0 + 500) / 1000 }
        }
    }

    let titles: [Title]
    let links: LinkDocument

    /// Returns the links as records for JSON output.
    func records(at service: String) -> [LinkRecord] {
        zip(titles, links.paths).map { title, path in
            LinkRecord(url: "\(title.url)", link: service + path, expires: links.expires, name: links.name)
        }
    }

    /// Returns the links as entries of a playlist.
    func entries(at service: String) -> [M3UPlaylist.Entry] {
        zip(titles, links.paths).map { title, path in
            M3UPlaylist.Entry(
                name: M3UPlaylist.name(title.name, title.url), duration: title.duration, link: service + path)
        }
    }
}

struct RevokeLinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke-links",
        abstract: "Revoke all playback links, tokens and sessions of browsers created so far.",
        discussion: """
            They stop working immediately, also at the running service. The commands url and token add make new ones; \
            token revoke and links revoke end single ones. \
            The keyring file changes: back it up again, because an older copy no longer opens this vault.
            """)

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        _ = try await owner.acting(ifInterrupted: "the links may still be valid") {
            try await $0.call(Operations.Upkeep.revokeLinks)
        }
        await Terminal.shared.say("all playback links, tokens and sessions are revoked; back up the keyring again")
        try await output.writeIfJSON(RevocationRecord())
    }
}
