import ArgumentParser
import Foundation
import MediaVault
import VaultService

struct URLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "url",
        abstract: "Print a link that plays a title through the service.",
        discussion: """
            Of a URL it needs only the keyring: neither the vault, nor the origin, nor a running service. With an id, --content-id or \
            --header-file the link plays exactly that title as it was stored; it contains none of the header fields, \
            so fetch some of the title with them first.
            """)

    @Argument(help: ArgumentHelp("Id or URL of the title.", valueName: "title"))
    var title: String

    @Option(help: ArgumentHelp("How long the link stays valid: 90s, 30m, 24h, 7d.", valueName: "time"))
    var expires = "24h"

    @Option(
        help: ArgumentHelp(
            "Address of the service (MEDIAVAULT_LISTEN; default: that of the running service, else 127.0.0.1:8300).",
            valueName: "host:port"))
    var listen: String?

    @Flag(help: "The service uses TLS; detected for a service that runs here.")
    var tls = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let name = try TitleName(title)
        if case .url(let url) = name, url.hasCredentials {
            throw UsageError("a playback link cannot contain a user name and password; leave them out of the URL")
        }
        let naming = try await naming.naming(of: [name], access.unlocking)
        let lifetime = try LinkLifetime(expires)
        let service = try await service()
        let (url, made) = try await link(to: name, naming, lifetime)
        let record = LinkRecord(url: "\(url)", link: service + made.path, expires: made.expires)
        try await StandardOutput.shared.write((json ? try JSONText.of(record) : record.link) + "\n")
    }

    /// Returns the URL of the title, and a link to it. Only the vault knows the title with an id.
    private func link(
        to name: TitleName, _ naming: TitleNaming, _ lifetime: LinkLifetime
    ) async throws -> (MediaURL, LinkDocument) {
        if let running = try await access.keylessService() {
            let reference = try await naming.reference(to: name, in: running)
            return (reference.url, try await running.link(to: reference, lifetime: lifetime.seconds))
        }
        let end = Int64(Date().timeIntervalSince1970) + lifetime.seconds
        guard case .url(let url) = name else {
            return try await access.opener().reading { vault in
                let reference = try await naming.reference(to: name, in: LocalVault(vault))
                let path = try await vault.playbackPath(for: reference, expires: end)
                return (reference.url, LinkDocument(path: path, expires: end))
            }
        }
        let reference = MediaReference(url, contentID: naming.contentID, fields: naming.fields)
        let path = try await access.tokenIssuer().playbackPath(for: reference, expires: end)
        return (url, LinkDocument(path: path, expires: end))
    }

    /// Returns the scheme and authority of the service.
    private func service() async throws -> String {
        // The link needs no vault: a missing vault or folder is no error.
        let folder = try? access.place.vault()
        let running: ServiceRecord? = if let folder { try await ServiceProbe.running(in: folder) } else { nil }
        // Port 0 is not a port: the system chose one when the service started.
        guard let named = try ListenAddress.named(listen)?.reachable, named.port != 0 else {
            return running?.address ?? "http\(tls ? "s" : "")://\(ListenAddress.standard)"
        }
        let secure = "https://\(named)"
        return tls || running?.address == secure ? secure : "http://\(named)"
    }
}

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print the admin token, which grants access to the service's API.",
        discussion: """
            Send it as "Authorization: Bearer TOKEN". Needs only the keyring: neither the vault nor a running service. \
            Anyone who has the token can do whatever the service can.
            """)

    @OptionGroup var access: VaultAccess

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let tokens = try await access.tokenIssuer()
        let token = tokens.adminToken
        try await StandardOutput.shared.write((json ? try JSONText.of(TokenRecord(token: token)) : token) + "\n")
    }
}

struct RevokeLinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke-links",
        abstract: "Revoke all playback links created so far, and the admin token.",
        discussion: """
            They stop working immediately, also at the running service. The commands url and token create new ones. \
            The keyring file changes: back it up again, because an older copy no longer opens this vault.
            """)

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() async throws {
        let finder = try await access.finder(waiting)
        _ = try await Interruption.cancelling("the links may still be valid") {
            try await finder.act { try await $0.revokeLinks() }
        }
        await Terminal.shared.say("all playback links and the admin token are revoked; back up the keyring again")
        if json { try await StandardOutput.shared.write(try JSONText.of(RevocationRecord()) + "\n") }
    }
}
