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
        try await createToken(scope, name: name, expires: expires, by: nil)
    }

    /// Does the same.
    ///
    /// - Parameter holder: what the request presented, which must not have ended when the token exists.
    package func createToken(
        _ scope: AccessScope, name: String?, expires: Int64?, by holder: TokenAccess?
    ) async throws -> IssuedToken {
        try requireOwner(to: "creates tokens")
        try requireFuture(expires)
        let (grants, tokens, now) = (grants, tokens, store.now())
        return try await pool.run {
            let grant = try grants.issue(.token(scope), name: name, expires: expires, era: tokens.era)
            let text = tokens.token(of: grant, .api(scope))
            try Self.requireInForce(grant, grants, tokens, by: holder, now: now)
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
        try await createLinks(named: name, to: references, expires: expires, by: nil)
    }

    /// Does the same.
    ///
    /// - Parameter holder: what the request presented, which must not have ended when the links exist.
    package func createLinks(
        named name: String, to references: [MediaReference], expires: Int64?, by holder: TokenAccess?
    ) async throws -> IssuedLinks {
        try requireOwner(to: "creates named links")
        try requireFuture(expires)
        let (grants, tokens, now) = (grants, tokens, store.now())
        // A named link never leads to another one, which could be revoked apart from it.
        let targets = references.map { tokens.resolvingPlaybackLinks($0) }
        // Refuses unusable references before anything is written.
        for target in targets { _ = try await playbackPath(for: target, expires: expires ?? Capability.never) }
        var titles: [TitleID] = []
        for target in targets.prefix(AccessGrant.LinkedResources.maxTitles) {
            titles.append(try await titleID(of: target))
        }
        guard let first = targets.first else {
            throw VaultError(.invalidArgument, "links need at least one title; name some")
        }
        let resources = AccessGrant.LinkedResources(
            url: "\(first.url)", count: targets.count, titles: titles)
        return try await pool.run {
            let grant = try grants.issue(.links(resources), name: name, expires: expires, era: tokens.era)
            let paths = try targets.map {
                try tokens.playbackPath(for: $0, expires: expires ?? Capability.never, grant: grant.id)
            }
            try Self.requireInForce(grant, grants, tokens, by: holder, now: now)
            return IssuedLinks(grant: grant, paths: paths)
        }
    }

    /// Returns the named links of which one leads to a title, alone or among others: their records name it.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the reference cannot be used; `storage`.
    public func namedLinks(to reference: MediaReference) async throws -> [AccessGrant] {
        let target = tokens.resolvingPlaybackLinks(reference)
        let (title, url) = (try await titleID(of: target), "\(target.url)")
        return issuedLinks.filter { grant in
            guard case .links(let resources) = grant.kind else { return false }
            return resources.lead(to: title, at: url)
        }
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
    /// begun continue, except for feeds of events, and for media that a viewer is being sent through a link that ends
    /// with them: the service ends that, unless it lets it finish.
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

    /// Revokes all tokens, all named links or all sessions; with the sessions end the tickets, and the sign-ins that have
    /// begun.
    ///
    /// - Returns: the number of those that were not revoked before.
    /// - Throws: as ``revoke(_:isAll:)``.
    package func revokeAll(_ family: AccessGrant.Family) async throws -> Int {
        try requireOwner(to: "revokes tokens and links")
        if family == .sessions { grants.endSignIns(of: nil) }
        return try await revoke(issued(family), isAll: true)
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

    /// Takes a grant back if all were revoked while it was issued, or what it was issued for was. Blocks.
    static func requireInForce(
        _ grant: AccessGrant, _ grants: GrantTable, _ tokens: TokenIssuer, by holder: TokenAccess?, now: Int64
    ) throws {
        let isHeld = holder.map { tokens.isValid($0, now: now) } ?? true
        guard tokens.era != grant.era || !isHeld else { return }
        _ = try grants.revoke([grant.id])
        guard isHeld else {
            throw VaultError(
                .busy, "the token or session that asked for this was revoked meanwhile; ask with another one")
        }
        throw VaultError(.busy, "all tokens and links were revoked meanwhile; try again")
    }

    private func requireFuture(_ expires: Int64?) throws {
        guard expires ?? .max > store.now() else {
            throw VaultError(.invalidArgument, "the time of expiry has passed; give a later one")
        }
    }
}
