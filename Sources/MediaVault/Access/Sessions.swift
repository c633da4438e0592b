import VaultModel
import VaultStorage

/// A browser session that has just begun.
package struct BegunSession: Sendable {
    /// The vault's record of the session.
    package let grant: AccessGrant
    /// The two halves of the session's secret, which the vault does not store.
    package let secret: SessionSecret
}

// Browser sessions, which begin with a ticket or with a viewer's PIN.
extension AccessGrants {
    /// Checks that sessions can begin here. Each session needs a record, which only the vault's owner can write.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process only reads the vault.
    package func requireSessions() throws {
        guard store.isOwner else {
            guard store.quota.diskRefusal() == nil else {
                throw VaultError(
                    .owned,
                    "the disk is full, so that the service only reads the vault, and nobody can sign in; free some space, "
                        + "then restart the service")
            }
            throw VaultError(
                .owned,
                "the vault is read-only here, so that nobody can sign in; a playback link plays what "
                    + "it has")
        }
    }

    /// Begins a browser session with the rights of a viewer, or with all rights of the vault's owner.
    ///
    /// The owner's session ends after ``AccessGrant/maxSession`` seconds, or after ``AccessGrant/maxIdleSession``
    /// seconds without a request. For a viewer's session, the limits are ``AccessGrant/maxViewing`` and
    /// ``AccessGrant/maxIdleViewing``.
    ///
    /// - Parameters:
    ///   - viewer: the viewer who is signed in; nil for the owner.
    ///   - browser: the name of the browser, which is shown in lists; nil if it is unknown.
    ///   - holder: the token or session with which the ticket was created; nil if there is none.
    ///   - era: the era in which the ticket was created, or in which the sign-in with the PIN began; nil for the
    ///     current one.
    ///   - former: the browser's previous session, which is ended.
    /// - Throws: the errors of ``createToken(_:name:expires:)``; also ``VaultError`` with code `busy` if the sessions
    ///   were ended or the credential was revoked during the call.
    package func beginSession(
        of viewer: ViewerID?, in browser: String?, by holder: TokenAccess? = nil, since era: SignInEra? = nil,
        endingFormer former: SessionSecret?
    ) async throws -> BegunSession {
        try requireSessions()
        let (grants, tokens, viewers, now) = (grants, tokens, viewers, store.index.now())
        let era = era ?? tokens.signInEra
        let former = former.flatMap { tokens.access(bySession: $0, now: now)?.grant }
        return try await pool.run {
            let end = now + (viewer == nil ? AccessGrant.maxSession : AccessGrant.maxViewing)
            let token = holder.flatMap { grants.token(of: $0.grant) }
            let grant = try grants.issue(
                .session(viewer), name: browser, expires: min(end, token?.expires ?? end), endingWith: token?.id,
                era: tokens.era)
            let secret = SessionSecret(
                cookie: tokens.token(of: grant, .cookie), proof: tokens.token(of: grant, .proof))
            try Self.requireInForce(grant, grants, tokens, by: holder, now: now)
            // Code that ends sessions first begins another era, and then looks for sessions. Either it has found this
            // session, or the session is revoked here.
            guard tokens.isInForce(era, for: viewer), viewer.map({ viewers.viewer($0) != nil }) ?? true else {
                _ = try grants.revoke([grant.id])
                throw VaultError(.busy, "sessions were ended while this one began; sign in again")
            }
            if let former { _ = try grants.revoke([former]) }
            return BegunSession(grant: grant, secret: secret)
        }
    }

    /// Gives a session another name, because several browsers may have the same.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if the session has ended; `invalidArgument` if the name cannot be
    ///   used; `owned` if this process only reads the vault; `storage` or `diskFull` if it cannot be written.
    package func rename(_ session: AccessGrant, to name: String) async throws {
        try store.requireOwner(to: "names sessions")
        let grants = grants
        try await pool.run { try grants.rename(session.id, to: name) }
    }

    /// Ends all sessions of a viewer.
    package func endSessions(of viewer: ViewerID) async throws {
        try store.requireOwner(to: "ends sessions")
        grants.endSignIns(of: viewer)
        let theirs = issued(.sessions).filter { $0.kind == .session(viewer) }
        if !theirs.isEmpty { try await revoke(theirs) }
    }
}
