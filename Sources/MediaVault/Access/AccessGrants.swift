import VaultCache
import VaultModel
import VaultStorage

/// A newly created token.
public struct IssuedToken: Sendable {
    /// The vault's record of the token.
    public let grant: AccessGrant
    /// The token itself. The vault does not store it, so it cannot be shown again.
    public let text: String
}

/// Newly created named playback links.
public struct IssuedLinks: Sendable {
    /// The vault's record of the links.
    public let grant: AccessGrant
    /// The path and query of each link, in the order of the references.
    public let paths: [String]
}

/// The tokens, playback links and sessions of a vault, which can be revoked one by one.
public struct AccessGrants: Sendable {
    let grants: GrantTable
    let tokens: TokenIssuer
    let titles: Titles
    let viewers: Viewers
    let keys: KeyAdministration

    var store: VaultStore { titles.store }
    var pool: BlockingPool { titles.pool }
    private var loaders: LoaderTable { titles.loaders }

    /// Creates a token for the service's API. The token is valid at once, and survives a restart.
    ///
    /// - Parameters:
    ///   - scope: the scope that the token allows.
    ///   - name: a name for display, unique among tokens.
    ///   - expires: the expiry, in seconds since 1970; nil for never.
    /// - Throws: ``VaultError`` with code `inUse` if another token has the name, or if there are too many grants;
    ///   `invalidArgument` if the name or the time cannot be used; `owned` if this process is not the owner; `storage`
    ///   or `diskFull` if the token's record cannot be written.
    public func createToken(
        _ scope: AccessScope, name: String? = nil, expires: Int64? = nil
    ) async throws -> IssuedToken {
        try await createToken(scope, name: name, expires: expires, by: nil)
    }

    /// Creates a token on behalf of a request.
    ///
    /// - Parameter holder: the request's credential, which must still be valid once the token exists.
    package func createToken(
        _ scope: AccessScope, name: String?, expires: Int64?, by holder: TokenAccess?
    ) async throws -> IssuedToken {
        try store.requireOwner(to: "creates tokens")
        try requireFuture(expires)
        let (grants, tokens, now) = (grants, tokens, store.index.now())
        return try await pool.run {
            let grant = try grants.issue(.token(scope), name: name, expires: expires, era: tokens.era)
            let text = tokens.token(of: grant, .api(scope))
            try Self.requireInForce(grant, grants, tokens, by: holder, now: now)
            return IssuedToken(grant: grant, text: text)
        }
    }

    /// Creates playback links that share one name and are revoked together.
    ///
    /// - Parameters:
    ///   - name: a name for display, unique among named links.
    ///   - references: the targets of the links, at least one.
    ///   - expires: the expiry, in seconds since 1970; nil for never.
    /// - Throws: the errors of ``createToken(_:name:expires:)``; also `invalidArgument` if a reference cannot be used.
    public func createLinks(
        named name: String, to references: [MediaReference], expires: Int64?
    ) async throws -> IssuedLinks {
        try await createLinks(named: name, to: references, expires: expires, by: nil)
    }

    /// Creates named playback links on behalf of a request.
    ///
    /// - Parameter holder: the request's credential, which must still be valid once the links exist.
    package func createLinks(
        named name: String, to references: [MediaReference], expires: Int64?, by holder: TokenAccess?
    ) async throws -> IssuedLinks {
        try store.requireOwner(to: "creates named links")
        try requireFuture(expires)
        let (grants, tokens, now) = (grants, tokens, store.index.now())
        // A named link never leads to another named link, because that one could be revoked separately.
        let targets = references.map { tokens.resolvingPlaybackLinks($0) }
        // Reject unusable references before anything is written.
        for target in targets { _ = try await playbackPath(for: target, expires: expires ?? Capability.never) }
        var linked: [TitleID] = []
        for target in targets.prefix(AccessGrant.LinkedResources.maxTitles) {
            linked.append(try await titles.titleID(of: target))
        }
        guard let first = targets.first else {
            throw VaultError(.invalidArgument, "links need at least one title; name some")
        }
        let resources = AccessGrant.LinkedResources(
            url: "\(first.url)", count: targets.count, titles: linked)
        return try await pool.run {
            let grant = try grants.issue(.links(resources), name: name, expires: expires, era: tokens.era)
            let paths = try targets.map {
                try tokens.playbackPath(for: $0, expires: expires ?? Capability.never, grant: grant.id)
            }
            try Self.requireInForce(grant, grants, tokens, by: holder, now: now)
            return IssuedLinks(grant: grant, paths: paths)
        }
    }

    /// Returns the named links whose records list a title, alone or among others.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the reference cannot be used; `storage` if the index
    ///   cannot be read.
    public func namedLinks(to reference: MediaReference) async throws -> [AccessGrant] {
        let target = tokens.resolvingPlaybackLinks(reference)
        let (title, url) = (try await titles.titleID(of: target), "\(target.url)")
        return issuedLinks.filter { grant in
            guard case .links(let resources) = grant.kind else { return false }
            return resources.lead(to: title, at: url)
        }
    }

    /// The tokens that are not revoked, the oldest first, including those that expired within the last 30 days.
    public var issuedTokens: [AccessGrant] { issued(.tokens) }

    /// The named links that are not revoked, the oldest first, including those that expired within the last 30 days.
    public var issuedLinks: [AccessGrant] { issued(.links) }

    /// Returns the grants of a family that are not revoked, the oldest first, without sessions that have ended.
    package func issued(_ family: AccessGrant.Family) -> [AccessGrant] {
        let now = store.index.now()
        return grants.grants(of: tokens.era).filter { grant in
            grant.kind.family == family && (family != .sessions || grants.isCurrent(grant, at: now))
        }
    }

    /// Returns the record of a request's credential; nil if the credential has since been revoked.
    package func grant(of access: TokenAccess) -> AccessGrant? { grants.grant(access.grant) }

    /// Returns the grant of a token, of named links or of a session; nil if there is no grant with this id any more.
    package func grant(_ id: GrantID) -> AccessGrant? { grants.grant(id) }

    /// The number of grant records that cannot be read. Such tokens, named links and sessions admit nothing.
    public var unreadableGrants: Int { grants.unreadableCount }

    /// Revokes tokens, named links or sessions permanently. Responses that have begun continue, except for two kinds:
    /// feeds of events, and media sent to a viewer through a link that ends with the grant. The service ends these,
    /// unless it lets the media finish.
    ///
    /// - Parameters:
    ///   - revoked: the grants of the tokens, links or sessions.
    ///   - isAll: whether these are all grants of their family. If so, records that cannot be read are deleted, too.
    /// - Returns: the number of grants that had not been revoked before.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `storage` or `diskFull` if the
    ///   change cannot be written.
    @discardableResult
    public func revoke(_ revoked: [AccessGrant], isAll: Bool = false) async throws -> Int {
        try store.requireOwner(to: "revokes tokens and links")
        let grants = grants
        return try await pool.run { try grants.revoke(revoked.map(\.id), isAll: isAll) }
    }

    /// Revokes all tokens, all named links or all sessions. Revoking the sessions also ends tickets and sign-ins that
    /// are in progress.
    ///
    /// - Returns: the number of grants that had not been revoked before.
    /// - Throws: the errors of ``revoke(_:isAll:)``.
    package func revokeAll(_ family: AccessGrant.Family) async throws -> Int {
        try store.requireOwner(to: "revokes tokens and links")
        if family == .sessions { grants.endSignIns(of: nil) }
        return try await revoke(issued(family), isAll: true)
    }

    /// Returns the path and query of a playback link for a reference, as
    /// ``TokenIssuer/playbackPath(for:expires:)-(MediaReference,_)`` does.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if no link can name the title with the reference's id. A
    ///   link contains the title's URL, and the key policy may have been changed to give that URL another name.
    public func playbackPath(for reference: MediaReference, expires: Int64) async throws -> String {
        let path = try tokens.playbackPath(for: reference, expires: expires)
        // A caller who requests a link to a title that was just removed wants the title back.
        let removed = loaders.environment.removed
        if !removed.isEmpty { removed.end(try await loaders.name(reference).id) }
        guard let id = reference.titleID else { return path }
        var linked = reference
        (linked.titleID, linked.stored) = (nil, nil)
        guard try await loaders.name(linked).id == loaders.name(reference).id else {
            throw VaultError(
                .invalidArgument,
                "no link can name the title with the id \(id), because the key policy has changed since it was stored; "
                    + "change it back, or fetch the title's URL again")
        }
        return path
    }

    /// Returns the path and query of a playback link that ends with the token or session with which it was created.
    package func playbackPath(
        for reference: MediaReference, expires: Int64, endingWith access: TokenAccess?
    ) async throws -> String {
        let path = try await playbackPath(for: reference, expires: expires)
        guard let access else { return path }
        return try tokens.playbackPath(for: reference, expires: expires, grant: access.grant)
    }

    /// Returns the path of a viewer's playback link, which reveals nothing about the title's origin.
    ///
    /// The link ends with the token or session with which it was created. It opens nothing while the title is not
    /// shared with the viewer.
    package func hiddenPath(
        for reference: MediaReference, _ hidden: HiddenTitle, expires: Int64, endingWith access: TokenAccess?
    ) async throws -> String {
        let path = try await playbackPath(for: reference, expires: expires, endingWith: access)
        let isDASH = try await titles.summary(of: reference)?.manifestKind == .dash
        return try HiddenLinks(tokens.keyring).path(for: path, hidden, leadsOn: isDASH)
    }

    /// Registers a closure to call whenever a token may have become void.
    ///
    /// - Returns: the two ids for ``stopListeningToGrants(_:)``.
    package func listenToGrants(_ wake: @escaping @Sendable () -> Void) -> (grants: Int, keys: Int) {
        (grants.listen(wake), keys.listen { _ in wake() })
    }

    package func stopListeningToGrants(_ listeners: (grants: Int, keys: Int)) {
        grants.stopListening(listeners.grants)
        keys.stopListening(listeners.keys)
    }

    /// Deletes the records of void grants, which nothing accepts.
    func removeVoidGrants() async {
        let (grants, era) = (grants, tokens.era)
        // Records that cannot be deleted now are deleted when a grant is issued, or by the vault's next owner.
        _ = try? await pool.run { try grants.removeVoid(era: era) }
    }

    /// Revokes a new grant if all grants or its holder's credential were revoked while it was issued. Blocks.
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
        guard expires ?? .max > store.index.now() else {
            throw VaultError(.invalidArgument, "the time of expiry has passed; give a later one")
        }
    }
}
