import Logging
package import MediaVault
import VaultModel

extension Operations {
    /// Tokens, named links and sessions.
    package enum Grants {
        static let all: [any AnyOperation] =
            [tokens, createToken, links, sessions, nameSession] + AccessGrant.Family.allCases.map(revoke)

        /// Returns the tokens that have not been revoked.
        package static let tokens = Operation<EmptyDocument, TokensDocument>(.get, "tokens", scope: .admin) {
            _, vault, _ in
            TokensDocument(
                tokens: vault.access.issuedTokens.compactMap { TokenDocument($0) },
                damaged: vault.access.unreadableGrants)
        }

        /// Creates a token.
        package static let createToken = Operation<TokenOrder, CreatedTokenDocument>(.post, "tokens", scope: .admin) {
            order, vault, caller in
            let expiry = try GrantExpiry(lifetime: order.lifetime, expires: order.expires, standard: .never)
            let issued = try await vault.access.createToken(
                order.scope, name: order.name, expires: try expiry.end(now: vault.now), by: caller.access)
            let created = CreatedTokenDocument(issued, order.scope)
            caller.logger.notice(
                "a token was created", metadata: ["token": "\(created.id)", "scope": "\(created.scope.rawValue)"])
            return created
        }

        /// Returns the named links that have not been revoked.
        package static let links = Operation<EmptyDocument, NamedLinksDocument>(.get, "links", scope: .admin) {
            _, vault, _ in
            NamedLinksDocument(
                links: vault.access.issuedLinks.compactMap { NamedLinkDocument($0) },
                damaged: vault.access.unreadableGrants)
        }

        /// Returns the browser sessions that have not ended.
        package static let sessions = Operation<EmptyDocument, SessionsDocument>(.get, "sessions", scope: .admin) {
            _, vault, _ in
            SessionsDocument(
                sessions: vault.access.issued(.sessions).compactMap { SessionDocument($0, among: vault.viewers) },
                damaged: vault.access.unreadableGrants)
        }

        /// Gives a session another name.
        package static let nameSession = Operation<SessionNaming, EmptyDocument>(.patch, "sessions", scope: .admin) {
            order, vault, _ in
            guard let session = vault.access.issued(.sessions).first(where: { $0.shortID == order.id }) else {
                throw VaultError(.notHeld, "there is no session with this id; list them")
            }
            try await vault.access.rename(session, to: order.name)
            return EmptyDocument()
        }

        /// Revokes the token, set of named links or session with an id, or the whole family.
        package static func revoke(_ family: AccessGrant.Family) -> Operation<GrantSelection, RevocationDocument> {
            Operation(.delete, family.path, scope: .admin) { selection, vault, caller in
                let count: Int
                switch (selection.id, selection.all) {
                case (let id?, nil):
                    let chosen = vault.access.issued(family).filter { $0.shortID == id }
                    guard !chosen.isEmpty else {
                        throw VaultError(.notHeld, "there is no \(family.noun) with this id; list them")
                    }
                    count = try await vault.access.revoke(chosen)
                case (nil, true): count = try await vault.access.revokeAll(family)
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
package struct GrantSelection: Codable, Sendable {
    let id: String?
    let all: Bool?

    /// - Parameter id: the id of the grant; nil for the whole family.
    package init(id: String?) { (self.id, all) = (id, id == nil ? true : nil) }
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
