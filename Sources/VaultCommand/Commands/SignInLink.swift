import ArgumentParser
import MediaVault
import VaultService

/// A link that signs one browser in, which is good once and for a short time.
struct SignInLink: Sendable {
    /// The running service that creates such links.
    struct Service: Sendable {
        let vault: RemoteVault
        fileprivate let address: ListenAddress
        fileprivate let isSecure: Bool
    }

    let text: String
    /// The number of seconds for which the link is good.
    let lifetime: Int

    /// Returns the running service.
    ///
    /// - Throws: ``UsageError`` if no service runs, or the running one offers no pages where it listens.
    static func service(of access: VaultAccess) async throws -> Service {
        guard let vault = try await access.runningService(),
            let record = try await ServiceProbe.running(in: access.place.vault()), let listening = record.listening
        else {
            throw UsageError("no service of this vault is running; start one with: mediavault serve")
        }
        let isSecure = record.address.hasPrefix("https://")
        guard record.servesPages ?? (isSecure || listening.isLoopback) else {
            throw UsageError(
                "the service uses plain HTTP that other machines can reach, where others could read and change its pages; start it "
                    + "with --tls-certificate and --tls-key, or with --listen 127.0.0.1:8300")
        }
        return Service(vault: vault, address: listening.reachable, isSecure: isSecure)
    }

    /// Prints the link, and says what it is good for.
    func print() async throws {
        try await StandardOutput.shared.write(text + "\n")
        await Terminal.shared.say("the link signs one browser in, within a minute")
    }
}

extension SignInLink.Service {
    /// Creates a link.
    ///
    /// - Parameters:
    ///   - listen: the service's address as the browser reaches it; nil for the address on which it listens.
    ///   - viewer: the id of the viewer whom the link signs in; nil for the owner.
    func link(listen: String?, viewer: String?) async throws -> SignInLink {
        let address = try listen.map { try ListenAddress($0) } ?? address
        let ticket = try await vault.createSessionTicket(for: viewer)
        // The ticket follows a number sign, so the browser does not send it with the request, and it appears in no log.
        return SignInLink(
            text: "\(isSecure ? "https" : "http")://\(address)/#ticket=\(ticket.ticket)", lifetime: ticket.lifetime)
    }
}

/// The option that says where a browser reaches the service.
struct BrowserAddress: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Address of the service as the browser reaches it, such as vault.example:8443 (default: its own).",
            valueName: "host:port"))
    var listen: String?
}
