import ArgumentParser
import MediaVault
import VaultService

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Manage the tokens of the service's API and metrics.",
        subcommands: [TokenCreateCommand.self, TokenListCommand.self, TokenRevokeCommand.self])
}

struct TokenCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Create a token, and print it once.",
        discussion: """
            Send it as "Authorization: Bearer TOKEN". Each scope allows what those before it allow:
              metrics  the metrics
              read     everything that only reads: status, titles, downloads, settings, events; no media and no keys
              play     playback links and media of titles that the vault has; the links end with the token
              admin    everything
            The vault does not keep the token itself. With a running service it needs no key.
            """, aliases: ["create"])

    @Option(help: "What the token allows: metrics, read, play or admin.")
    var scope: ScopeArgument

    @Option(help: ArgumentHelp("When it expires: \(ExpiryArgument.forms).", valueName: "time"))
    var expires = "never"

    @Option(help: "A name by which to list and revoke it.")
    var name: String?

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let order = TokenOrder(scope.scope, name: name, try ExpiryArgument.parse(expires))
        let created = try await owner.acting(
            ifInterrupted: "a token may have been created; token list shows it"
        ) { try await $0.call(Operations.Grants.createToken, order) }
        try await StandardOutput.shared.write((output.isJSON ? try JSONText.of(created) : created.token) + "\n")
        let end = created.expires.map { "expires \($0)" } ?? "never expires"
        await Terminal.shared.say(
            "created token \(created.id) with the scope \(created.scope.rawValue), which \(end); the token is not shown "
                + "again")
    }
}

struct TokenListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the tokens that are not revoked, and when each was last used.",
        discussion: "Shows no token itself. Days are in UTC.", aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await access.asking { try await $0.call(Operations.Grants.tokens) }
        await IssuedText.warn(ofDamaged: document.damaged)
        guard !output.isJSON else { return try await StandardOutput.shared.writeJSON(document) }
        if document.tokens.isEmpty { await Terminal.shared.say("there are no tokens") }
        let rows = document.tokens.map { token in
            [
                token.id, token.scope.rawValue, IssuedText.day(token.created), IssuedText.expiry(token.expires),
                token.lastUsed ?? "never", Terminal.printable(token.name ?? "-"),
            ]
        }
        try await StandardOutput.shared.write(
            IssuedText.table(["ID", "SCOPE", "CREATED", "EXPIRES", "USED", "NAME"], rows))
    }
}

struct TokenRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke tokens; they stop working at once.",
        discussion: """
            Links that were created with a token of the scope play end with it. keys revoke-links revokes all tokens \
            and links by a change of the keyring, so that no older copy of the vault's folder brings one back.
            """)

    @Argument(help: RevocationArguments.help, completion: ServiceCompletion.tokens)
    var names: [String] = []

    @OptionGroup var revocation: RevocationArguments

    func validate() throws { try revocation.check(beside: names) }

    func run() async throws { try await revocation.revoke(names, .tokens) }
}

struct LinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links", abstract: "List and revoke the playback links that have a name.",
        discussion: "The command url --name creates them.",
        subcommands: [LinksListCommand.self, LinksRevokeCommand.self])
}

struct LinksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the named links that are not revoked, and when each was last used.",
        discussion: "Shows no link itself. Days are in UTC.", aliases: ["ls"])

    @OptionGroup var access: VaultAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let document = try await access.asking { try await $0.call(Operations.Grants.links) }
        await IssuedText.warn(ofDamaged: document.damaged)
        guard !output.isJSON else { return try await StandardOutput.shared.writeJSON(document) }
        if document.links.isEmpty { await Terminal.shared.say("there are no named links") }
        let rows = document.links.map { link in
            let others = link.count == 1 ? "" : " and \(link.count - 1) more"
            return [
                link.id, IssuedText.day(link.created), IssuedText.expiry(link.expires), link.lastUsed ?? "never",
                Terminal.printable(link.name), Terminal.printable(link.url) + others,
            ]
        }
        try await StandardOutput.shared.write(
            IssuedText.table(["ID", "CREATED", "EXPIRES", "USED", "NAME", "TITLE"], rows))
    }
}

struct LinksRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke named links; they stop working at once.",
        discussion: """
            Responses that have begun continue. Links without a name end only with their expiry, or with all others by \
            keys revoke-links.
            """)

    @Argument(help: RevocationArguments.help, completion: ServiceCompletion.links)
    var names: [String] = []

    @OptionGroup var revocation: RevocationArguments

    func validate() throws { try revocation.check(beside: names) }

    func run() async throws { try await revocation.revoke(names, .links) }
}

/// The options of a command that revokes tokens, links or sessions.
struct RevocationArguments: ParsableArguments {
    /// The help for the argument that takes names.
    static let help = ArgumentHelp("Names or ids, as list prints them.", valueName: "name")

    @Flag(help: "Revoke all of them.")
    var all = false

    @Flag(help: "Do not ask before --all revokes all of them.")
    var yes = false

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func check(beside names: [String]) throws {
        guard names.isEmpty == all else {
            throw ValidationError("name what to revoke, or give --all")
        }
    }

    /// Revokes the tokens, links or sessions that the arguments name. If any of the names does not exist, nothing is
    /// revoked.
    func revoke(_ names: [String], _ family: AccessGrant.Family) async throws {
        let isAgreed = yes
        let what = family.noun
        let count = try await owner.acting(ifInterrupted: "list shows what is not revoked") { vault in
            guard !names.isEmpty else {
                if !isAgreed { try await Self.ask(family, what, in: vault) }
                return try await vault.call(Operations.Grants.revoke(family), GrantSelection(id: nil)).revoked
            }
            var count = 0
            for id in try await Self.ids(of: names, family, in: vault) {
                count += try await vault.call(Operations.Grants.revoke(family), GrantSelection(id: id)).revoked
            }
            return count
        }
        await Terminal.shared.say("\(Count.of(count, what)) revoked")
        try await output.writeIfJSON(["revoked": count])
    }

    /// Asks the user whether to revoke the whole family, including records that cannot be read.
    private static func ask(_ family: AccessGrant.Family, _ what: String, in vault: any VaultClient) async throws {
        let count: Int
        switch family {
        case .tokens:
            let document = try await vault.call(Operations.Grants.tokens)
            count = document.tokens.count + document.damaged
        case .links:
            let document = try await vault.call(Operations.Grants.links)
            count = document.links.count + document.damaged
        case .sessions:
            let document = try await vault.call(Operations.Grants.sessions)
            count = document.sessions.count + document.damaged
        }
        if count > 0 { try await BulkConsent.ask(to: "revoke", Count.of(count, what)) }
    }

    private static func ids(
        of names: [String], _ family: AccessGrant.Family, in vault: any VaultClient
    ) async throws -> [String] {
        let known: [(String, String?)] =
            switch family {
            case .tokens: try await vault.call(Operations.Grants.tokens).tokens.map { ($0.id, $0.name) }
            case .links: try await vault.call(Operations.Grants.links).links.map { ($0.id, $0.name) }
            // Browsers of the same kind have the same name, so a session can be named only by its id.
            case .sessions: try await vault.call(Operations.Grants.sessions).sessions.map { ($0.id, nil) }
            }
        // Duplicates are dropped, because the user may name the same one both by its name and by its id.
        var chosen: [String] = []
        for name in names {
            guard let found = known.first(where: { $0.1 == name }) ?? known.first(where: { $0.0 == name }) else {
                let group = family == .tokens ? "token" : family.rawValue
                throw VaultError(
                    .notHeld,
                    "there is no \(family.noun) with this name or id, so nothing was revoked; mediavault "
                        + "\(group) list shows the existing ones")
            }
            if !chosen.contains(found.0) { chosen.append(found.0) }
        }
        return chosen
    }
}

/// Formats lists of tokens, links and sessions.
enum IssuedText {
    /// Returns a table; empty if there are no rows.
    static func table(_ heading: [String], _ rows: [[String]]) -> String {
        rows.isEmpty ? "" : TextTable.text([heading] + rows)
    }

    /// Returns the date part of a time.
    static func day(_ time: Timestamp) -> String { String(time.description.prefix(10)) }

    /// Returns a time of expiry in the form that the option accepts.
    static func expiry(_ time: Timestamp?) -> String { time.map { "\($0)" } ?? "never" }

    /// Reports the number of records that cannot be read.
    static func warn(ofDamaged count: Int) async {
        guard count > 0 else { return }
        await Terminal.shared.say(
            "\(Count.of(count, "record")) of tokens, links or sessions cannot be read; they admit nothing, and revoke --all removes them"
        )
    }
}

/// A scope, identified by its name.
enum ScopeArgument: String, CaseIterable, ExpressibleByArgument, Sendable {
    case metrics, read, play, admin

    var scope: AccessScope {
        switch self {
        case .metrics: .metrics
        case .read: .read
        case .play: .play
        case .admin: .admin
        }
    }
}

extension VaultAccess {
    /// Asks a question of the running service, for which no key is needed. If there is no service, the vault is opened
    /// for reading.
    func asking<Value>(_ question: (any VaultClient) async throws -> Value) async throws -> Value {
        do {
            return try await question(RemoteVault(ControlClient(folder: try place.vault())))
        } catch is ServiceGone {
            return try await opener().reading { try await question(LocalVault($0)) }
        }
    }
}
