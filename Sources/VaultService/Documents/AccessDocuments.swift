package import MediaVault

/// A token as `GET /api/v1/tokens` and `token list --json` report it.
package struct TokenDocument: Codable, Hashable, Sendable {
    package let id: String
    @OrNull package var name: String?
    package let scope: AccessScope
    package let created: Timestamp
    /// When the token expires; null if it never does.
    @OrNull package var expires: Timestamp?
    /// The day, in UTC, on which the token was last used; null if it never was.
    @OrNull package var lastUsed: String?

    /// Returns nil if the grant is not a token.
    init?(_ grant: AccessGrant) {
        guard case .token(let scope) = grant.kind else { return nil }
        (id, name, self.scope) = (grant.shortID, grant.name, scope)
        created = Timestamp(seconds: grant.created)
        expires = grant.expires.map { Timestamp(seconds: $0) }
        lastUsed = grant.lastUsed.map(DayText.text)
    }
}

/// The tokens of a vault.
package struct TokensDocument: Codable, Sendable {
    package let tokens: [TokenDocument]
    /// The number of unreadable records of tokens, named links and sessions. Such a record grants no access.
    package let damaged: Int
}

/// A token that was just created, as `token create --json` prints it.
package struct CreatedTokenDocument: Codable, Sendable {
    /// The token itself, which is not shown again.
    package let token: String
    package let id: String
    @OrNull package var name: String?
    package let scope: AccessScope
    @OrNull package var expires: Timestamp?

    init(_ issued: IssuedToken, _ scope: AccessScope) {
        (token, id, name, self.scope) = (issued.text, issued.grant.shortID, issued.grant.name, scope)
        expires = issued.grant.expires.map { Timestamp(seconds: $0) }
    }
}

/// The body of `POST /api/v1/tokens`.
package struct TokenOrder: Codable, Sendable {
    let scope: AccessScope
    let name: String?
    /// How long the token is valid, in seconds from now. 0 means that it never expires, as does omitting both this and
    /// ``expires``.
    let lifetime: Int64?
    /// When the token expires; the alternative to ``lifetime``.
    let expires: Timestamp?

    package init(_ scope: AccessScope, name: String?, _ expiry: GrantExpiry) {
        (self.scope, self.name) = (scope, name)
        (lifetime, expires) = expiry.members
    }
}

/// The format in which documents write a day: `2026-11-24`.
enum DayText {
    static func text(_ seconds: Int64) -> String { String(Timestamp(seconds: seconds).description.prefix(10)) }
}

/// The result of revoking tokens, links or sessions.
package struct RevocationDocument: Codable, Hashable, Sendable {
    /// The number of tokens, links or sessions that were revoked.
    package let revoked: Int
}

/// The body of `POST /api/v1/tickets`.
struct TicketOrder: Codable, Sendable {
    /// The purpose of the ticket; nil for the event feed.
    let use: Tickets.Use?
    /// The id of the viewer that a session ticket signs in; nil for the owner.
    let viewer: String?

    init(use: Tickets.Use?, viewer: String? = nil) { (self.use, self.viewer) = (use, viewer) }
}

/// A ticket that was just created.
package struct TicketDocument: Codable, Hashable, Sendable {
    /// The ticket. A client passes a ticket for events as `ticket` in the event feed's query.
    package let ticket: String
    /// How long the ticket stays valid, in seconds.
    package let lifetime: Int
}
