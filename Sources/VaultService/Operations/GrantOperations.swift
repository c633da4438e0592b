import Logging
package import MediaVault
import VaultModel

// Tokens, named links and sessions.
extension Operations {
    enum Grants {
        static let all: [any AnyOperation] =
            [tokens, createToken, links, sessions] + AccessGrant.Family.allCases.compactMap { revoke[$0] }

        static let tokens = Operation<EmptyDocument, TokensDocument>(.get, "tokens", scope: .admin) { _, vault, _ in
            TokensDocument(
                tokens: vault.issuedTokens.compactMap { TokenDocument($0) }, damaged: vault.unreadableGrants)
        }

        static let createToken = Operation<TokenOrder, CreatedTokenDocument>(.post, "tokens", scope: .admin) {
            order, vault, caller in
            let expiry = try GrantExpiry(lifetime: order.lifetime, expires: order.expires, standard: .never)
            let issued = try await vault.createToken(
                order.scope, name: order.name, expires: try expiry.end(now: vault.now), by: caller.access)
            let created = CreatedTokenDocument(issued, order.scope)
            caller.logger.notice(
                "a token was created", metadata: ["token": "\(created.id)", "scope": "\(created.scope.rawValue)"])
            return created
        }

        static let links = Operation<EmptyDocument, NamedLinksDocument>(.get, "links", scope: .admin) { _, vault, _ in
            NamedLinksDocument(
                links: vault.issuedLinks.compactMap { NamedLinkDocument($0) }, damaged: vault.unreadableGrants)
        }

        static let sessions = Operation<EmptyDocument, SessionsDocument>(.get, "sessions", scope: .admin) {
            _, vault, _ in
            SessionsDocument(
                sessions: vault.issued(.sessions).compactMap { SessionDocument($0, among: vault.viewers) },
                damaged: vault.unreadableGrants)
        }

        /// Revokes grants of a family.
        static let revoke = Dictionary(
            uniqueKeysWithValues: AccessGrant.Family.allCases.map { ($0, revocation(of: $0)) })

        private static func revocation(
            of family: AccessGrant.Family
        ) -> Operation<GrantSelection, RevocationDocument> {
            Operation(.delete, family.path, scope: .admin) { selection, vault, caller in
                let count: Int
                switch (selection.id, selection.all) {
                case (let id?, nil):
                    let chosen = vault.issued(family).filter { $0.shortID == id }
                    guard !chosen.isEmpty else {
                        throw VaultError(.notHeld, "there is no \(family.noun) with this id; list them")
                    }
                    count = try await vault.revoke(chosen)
                case (nil, true): count = try await vault.revokeAll(family)
                default:
                    throw VaultError(
                        .invalidArgument, "the query must have either the id of what to revoke, or all=true")
                }
                caller.logger.notice(
                    "tokens, named links or sessions were revoked",
                    metadata: ["kind": "\(family.rawValue)", "count": .number(count)])
                return RevocationDocument(revoked: count)
            }
        }
    }
}

/// The query of a request that revokes grants: one of them, or all of a family.
struct GrantSelection: Codable, Sendable {
    var id: String?
    var all: Bool?
}

extension AccessGrant.Family {
    /// The path that lists and revokes the family's grants.
    fileprivate var path: String {
        switch self {
        case .tokens: "tokens"
        case .links: "links"
        case .sessions: "sessions"
        }
    }
}

extension VaultClient {
    /// Returns the tokens that have not been revoked.
    package func tokens() async throws -> TokensDocument { try await call(Operations.Grants.tokens, EmptyDocument()) }

    /// Creates a token.
    package func createToken(_ order: TokenOrder) async throws -> CreatedTokenDocument {
        try await call(Operations.Grants.createToken, order)
    }

    /// Returns the named links that have not been revoked.
    package func links() async throws -> NamedLinksDocument {
        try await call(Operations.Grants.links, EmptyDocument())
    }

    /// Returns the browser sessions that have not ended.
    package func sessions() async throws -> SessionsDocument {
        try await call(Operations.Grants.sessions, EmptyDocument())
    }

    /// Revokes the token, set of named links or session with an id, or the whole family if the id is nil.
    package func revoke(_ family: AccessGrant.Family, id: String?) async throws -> RevocationDocument {
        let selection = GrantSelection(id: id, all: id == nil ? true : nil)
        guard let operation = Operations.Grants.revoke[family] else { throw VaultError(.closed, "no such family") }
        return try await call(operation, selection)
    }
}
