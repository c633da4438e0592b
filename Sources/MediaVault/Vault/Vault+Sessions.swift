import VaultModel
import VaultStorage

/// A session of a browser that just began.
package struct BegunSession: Sendable {
    /// What the vault keeps of it.
    package let grant: AccessGrant
    /// The two halves of its secret, which the vault does not keep.
    package let secret: SessionSecret
}

// Sessions of browsers, which begin with a ticket, or with the PIN of a viewer.
extension Vault {
    /// Requires that sessions can begin: each has a record of its own.
    ///
    /// - Throws: ``VaultError`` with code `owned` if this process only reads the vault.
    package func requireSessions() throws {
        guard store.isOwner else {
            throw VaultError(
                .owned,
                "the vault is read-only here, so that nobody can sign in; a playback link plays what "
                    + "it has")
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
    ///   - holder: the token or session with which the ticket was created.
    ///   - era: what was in force when the ticket was created, or before the PIN was looked at; nil for now.
    ///   - former: the session that the same browser had before, which ends.
    /// - Throws: as ``createToken(_:name:expires:)``; ``VaultError`` with code `busy` if what lets the browser in has
    ///   ended meanwhile.
    package func beginSession(
        of viewer: ViewerID?, in browser: String?, by holder: TokenAccess? = nil, since era: SignInEra? = nil,
        endingFormer former: SessionSecret?
    ) async throws -> BegunSession {
        try requireSessions()
        let (grants, tokens, viewers, now) = (grants, tokens, viewers, store.now())
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
            // Whoever ends sessions begins another era first, and looks for them then: so either they have found this
            // one, or it is taken back here.
            guard tokens.isInForce(era, for: viewer), viewer.map({ viewers.viewer($0) != nil }) ?? true else {
                _ = try grants.revoke([grant.id])
                throw VaultError(.busy, "sessions were ended while this one began; sign in again")
            }
            if let former { _ = try grants.revoke([former]) }
            return BegunSession(grant: grant, secret: secret)
        }
    }

    /// Ends the sessions of a viewer.
    package func endSessions(of viewer: ViewerID) async throws {
        try requireOwner(to: "ends sessions")
        grants.endSignIns(of: viewer)
        let theirs = issued(.sessions).filter { $0.kind == .session(viewer) }
        if !theirs.isEmpty { try await revoke(theirs) }
    }
}
