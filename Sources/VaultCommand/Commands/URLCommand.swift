import ArgumentParser
import Foundation
import MediaVault
import VaultService

struct URLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "url",
        abstract: "Print the address that plays a title through the service.",
        discussion: """
            Needs the keyring only: neither the vault, nor the origin, nor a running service. With --content-id or \
            --header-file the address plays that one title as it was stored; it holds none of the fields, so fetch \
            some of the title with them first.
            """)

    @Argument(help: "The title: http or https.")
    var url: String

    @Option(help: ArgumentHelp("How long the address stays valid: 90s, 30m, 24h, 7d.", valueName: "time"))
    var expires = "24h"

    @Option(
        help: ArgumentHelp(
            "Where the service listens (MEDIAVAULT_LISTEN; default: where it runs, else 127.0.0.1:8300).",
            valueName: "host:port"))
    var listen: String?

    @Flag(help: "The service speaks TLS: where it runs here, that is known.")
    var tls = false

    @OptionGroup var naming: ReferenceOptions

    @OptionGroup var access: VaultAccess

    func run() async throws {
        let url = try MediaURL(url)
        guard !url.hasCredentials else {
            throw UsageError("an address for players cannot carry a user name and password; leave them out of the URL")
        }
        let reference = try await naming.reference(url, access.unlocking)
        let lifetime = try LinkLifetime(expires)
        let service = try await service()
        let keyring = try access.place.keyringFile()
        let tokens = try await TokenIssuer.open(keyring: keyring, unlock: try await access.unlocking.unlock())
        let end = Int64(Date().timeIntervalSince1970) + lifetime.seconds
        let path = try tokens.playbackPath(for: reference, expires: end)
        try await StandardOutput.shared.write("\(service)\(path)\n")
    }

    /// Scheme and authority of the service.
    private func service() async throws -> String {
        // A vault that is not there, or nowhere to look for one, is no obstacle.
        let folder = try? access.place.vault()
        let running: ServiceRecord? = if let folder { try await ServiceProbe.running(in: folder) } else { nil }
        // Port 0 names no port: the system chose one when the service began.
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
        abstract: "Print the admin token, which opens the service's API.",
        discussion: """
            Send it as "Authorization: Bearer TOKEN". Needs the keyring only: neither the vault nor a running service. \
            Whoever has it can do whatever the service can.
            """)

    @OptionGroup var access: VaultAccess

    func run() async throws {
        let keyring = try access.place.keyringFile()
        let tokens = try await TokenIssuer.open(keyring: keyring, unlock: try await access.unlocking.unlock())
        try await StandardOutput.shared.write(tokens.adminToken + "\n")
    }
}

struct RevokeLinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke-links",
        abstract: "Revoke every playback address made so far, and the admin token.",
        discussion: """
            From then on they open nothing, at the running service too. The commands url and token make new ones. The \
            keyring's file is written anew: back it up again, an older copy opens this vault no more.
            """)

    @OptionGroup var access: VaultAccess

    @OptionGroup var waiting: WaitOption

    func run() async throws {
        let finder = try await access.finder(waiting)
        _ = try await Interruption.cancelling("the addresses may be good still") {
            try await finder.act { try await $0.revokeLinks() }
        }
        await Terminal.shared.say("all playback addresses and the admin token are revoked; back the keyring up again")
    }
}
