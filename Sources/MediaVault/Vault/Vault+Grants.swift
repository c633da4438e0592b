import VaultModel
import VaultStorage

/// A token that was just created.
public struct IssuedToken: Sendable {
    /// What the vault keeps of it.
    public let grant: AccessGrant
    /// The token itself, which the vault does not keep: it cannot be shown again.
    public let text: String
}

/// Named playback links that were just created.
public struct IssuedLinks: Sendable {
    /// What the vault keeps of them.
    public let grant: AccessGrant
    /// Path and query of each link, in the order of the references.
    public let paths: [String]
}

/// A session of a browser that just began.
package struct BegunSession: Sendable {
    /// What the vault keeps of it.
    package let grant: AccessGrant
    /// The two halves of its secret, which the vault does not keep.
    package let secret: SessionSecret
}

// Tokens, named links and sessions, which are revoked one by one.
extension Vault {
    /// Creates a token for the service's API. It is valid at once, and after a restart.
    ///
    /// - Parameters:
    ///   - scope: what it allows.
    ///   - name: for people; no other token has it.
    ///   - expires: seconds since 1970; nil for never.
    /// - Throws: ``VaultError`` with code `inUse` if another token has the name; `invalidArgument` if the name or the
    ///   time cannot be used; `owned` if this process is not the owner; `storage`, `diskFull`.
    public func createToken(
        _ scope: AccessScope, name: String? = nil, expires: Int64? = nil
    ) async throws -> IssuedToken {
        try requireOwner(to: "creates tokens")
        try requireFuture(expires)
        let (grants, tokens) = (grants, tokens)
        return try await pool.run {
            let grant = try grants.issue(.token(scope), name: name, expires: expires, era: tokens.era)
            let text = tokens.token(of: grant, .api(scope))
            try Self.requireInForce(grant, grants, tokens)
            return IssuedToken(grant: grant, text: text)
        }
    }

    /// Creates playback links that have one name, and are revoked together.
    ///
    /// - Parameters:
    ///   - name: for people; no other links have it.
    ///   - references: what the links lead to, at least one.
    ///   - expires: seconds since 1970; nil for never.
    /// - Throws: as ``createToken(_:name:expires:)``, and with code `invalidArgument` if a reference cannot be used.
    public func createLinks(
        named name: String, to references: [MediaReference], expires: Int64?
    ) async throws -> IssuedLinks {
        try requireOwner(to: "creates named links")
        try requireFuture(expires)
        let (grants, tokens) = (grants, tokens)
        // A named link never leads to another one, which could be revoked apart from it.
        let targets = references.map { tokens.resolvingPlaybackLinks($0) }
        // Refuses unusable references before anything is written.
        for target in targets { _ = try await playbackPath(for: target, expires: expires ?? Capability.never) }
        guard let first = targets.first else {
            throw VaultError(.invalidArgument, "links need at least one title; name some")
        }
        let resources = AccessGrant.LinkedResources(url: "\(first.url)", count: targets.count)
        return try await pool.run {
            let grant = try grants.issue(.links(resources), name: name, expires: expires, era: tokens.era)
            let paths = try targets.map {
                try tokens.playbackPath(for: $0, expires: expires ?? Capability.never, grant: grant.id)
            }
            try Self.requireInForce(grant, grants, tokens)
            return IssuedLinks(grant: grant, paths: paths)
        }
    }

    /// Begins a session in which a browser does what a viewer may do, or everything that the vault's owner may.
    ///
    /// It ends after ``AccessGrant/maxSession`` seconds, or ``AccessGrant/maxIdleSession`` without a request; that of a
    /// viewer after ``AccessGrant/maxViewing`` and ``AccessGrant/maxIdleViewing``.
    ///
    /// - Parameters:
    ///   - viewer: who is signed in; nil for the owner.
    ///   - browser: the name of the browser, for lists; nil if it is unknown.
    ///   - former: the session that the same browser had before, which ends.
    /// - Throws: as ``createToken(_:name:expires:)``.
    package func beginSession(
        of viewer: ViewerID?, in browser: String?, by holder: TokenAccess? = nil, endingFormer former: SessionSecret?
    ) async throws -> BegunSession {
        try requireOwner(to: "begins sessions")
        let (grants, tokens, now) = (grants, tokens, store.now())
        let former = former.flatMap { tokens.access(bySession: $0, now: now)?.grant }
        return try await pool.run {
            let end = now + (viewer == nil ? AccessGrant.maxSession : AccessGrant.maxViewing)
            let token = holder.flatMap { grants.token(of: $0.grant) }
            let grant = try grants.issue(
                .session(viewer), name: browser, expires: min(end, token?.expires ?? end), endingWith: token?.id,
                era: tokens.era)
            let secret = SessionSecret(
                cookie: tokens.token(of: grant, .cookie), proof: tokens.token(of: grant, .proof))
            try Self.requireInForce(grant, grants, tokens)
            // What let the browser in may have been revoked since its ticket was taken back.
            if let holder, !tokens.isValid(holder, now: now) {
                _ = try grants.revoke([grant.id])
                throw VaultError(.busy, "what the ticket was created with was revoked meanwhile; get another ticket")
            }
            if let former { _ = try grants.revoke([former]) }
            return BegunSession(grant: grant, secret: secret)
        }
    }

    /// Ends the sessions of a viewer.
    package func endSessions(of viewer: ViewerID) async throws {
        let theirs = issued(.sessions).filter { $0.kind == .session(viewer) }
        if !theirs.isEmpty { try await revoke(theirs) }
    }

    /// The tokens that are not revoked, the oldest first; those that expired within the last 30 days, too.
    public var issuedTokens: [AccessGrant] { issued(.tokens) }

    /// The named links that are not revoked, the oldest first; those that expired within the last 30 days, too.
    public var issuedLinks: [AccessGrant] { issued(.links) }

    /// Returns what is not revoked of a family, the oldest first; sessions that have ended are not listed.
    package func issued(_ family: AccessGrant.Family) -> [AccessGrant] {
        let now = store.now()
        return grants.grants(of: tokens.era).filter { grant in
            grant.kind.family == family && (family != .sessions || grants.isCurrent(grant, at: now))
        }
    }

    /// Returns the record of what a request presented; nil if it was revoked since.
    package func grant(of access: TokenAccess) -> AccessGrant? { grants.grant(access.grant) }

    /// Returns a token, named links or a session; nil if there is none with the id any more.
    package func grant(_ id: GrantID) -> AccessGrant? { grants.grant(id) }

    /// The number of records of tokens, named links and sessions that cannot be read; they admit nothing.
    public var unreadableGrants: Int { grants.unreadableCount }

    /// Revokes tokens, named links or sessions: from now on they open nothing, also after a restart. Responses that have
    /// begun continue, except for feeds of events.
    ///
    /// - Parameters:
    ///   - revoked: the tokens, links or sessions.
    ///   - isAll: whether these are all of their kind; then records that cannot be read are deleted, too.
    /// - Returns: the number of those that were not revoked before.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `storage`, `diskFull`.
    @discardableResult
    public func revoke(_ revoked: [AccessGrant], isAll: Bool = false) async throws -> Int {
        try requireOwner(to: "revokes tokens and links")
        let grants = grants
        return try await pool.run { try grants.revoke(revoked.map(\.id), isAll: isAll) }
    }

    /// Returns the path and query of a playback link that ends with the token it was created with.
    package func playbackPath(
        for reference: MediaReference, expires: Int64, endingWith access: TokenAccess?
    ) async throws -> String {
        let path = try await playbackPath(for: reference, expires: expires)
        guard let access else { return path }
        return try tokens.playbackPath(for: reference, expires: expires, grant: access.grant)
    }

    /// Returns the path of a playback link for a viewer, which shows nothing of the title's origin.
    ///
    /// It ends with the token or session that it was created with, and opens nothing while the title is not shared.
    package func hiddenPath(
        for reference: MediaReference, _ hidden: HiddenTitle, expires: Int64, endingWith access: TokenAccess?
    ) async throws -> String {
        let path = try await playbackPath(for: reference, expires: expires, endingWith: access)
        let isDASH = try await summary(of: reference)?.manifestKind == .dash
        return try HiddenLinks(tokens.keyring).path(for: path, hidden, leadsOn: isDASH)
    }

    /// Registers a closure that is called whenever a token may have become void.
    ///
    /// - Returns: the numbers for ``stopListeningToGrants(_:)``.
    package func listenToGrants(_ wake: @escaping @Sendable () -> Void) -> (grants: Int, keys: Int) {
        (grants.listen(wake), keys.listen { _ in wake() })
    }

    package func stopListeningToGrants(_ listeners: (grants: Int, keys: Int)) {
        grants.stopListening(listeners.grants)
        keys.stopListening(listeners.keys)
    }

    /// Deletes the records of what is void: nothing accepts it.
    func removeVoidGrants() async {
        let (grants, era) = (grants, tokens.era)
        // What cannot be deleted now is deleted when something is issued, or by the next owner.
        _ = try? await pool.run { try grants.removeVoid(era: era) }
    }

    /// Takes a grant back if all were revoked while it was issued. Blocks.
    private static func requireInForce(_ grant: AccessGrant, _ grants: GrantTable, _ tokens: TokenIssuer) throws {
        guard tokens.era != grant.era else { return }
        _ = try grants.revoke([grant.id])
        throw VaultError(.busy, "all tokens and links were revoked meanwhile; try again")
    }

    private func requireFuture(_ expires: Int64?) throws {
        guard expires ?? .max > store.now() else {
            throw VaultError(.invalidArgument, "the time of expiry has passed; give a later one")
        }
    }
}
