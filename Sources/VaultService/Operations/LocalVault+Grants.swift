package import MediaVault
import VaultModel

// Tokens, playback links and sessions.
extension LocalVault {
    package func tokens() async throws -> TokensDocument {
        TokensDocument(tokens: vault.issuedTokens.compactMap { TokenDocument($0) }, damaged: vault.unreadableGrants)
    }

    package func createToken(_ order: TokenOrder) async throws -> CreatedTokenDocument {
        try await createToken(order, by: nil)
    }

    /// Creates a token on behalf of a request.
    ///
    /// - Parameter access: the credential that the request presented; nil if the vault's own user creates the token.
    func createToken(_ order: TokenOrder, by access: TokenAccess?) async throws -> CreatedTokenDocument {
        let expiry = try GrantExpiry(lifetime: order.lifetime, expires: order.expires, standard: .never)
        let issued = try await vault.createToken(
            order.scope, name: order.name, expires: try expiry.end(now: vault.now),
            by: access)
        return CreatedTokenDocument(issued, order.scope)
    }

    package func links() async throws -> NamedLinksDocument {
        NamedLinksDocument(
            links: vault.issuedLinks.compactMap { NamedLinkDocument($0) }, damaged: vault.unreadableGrants)
    }

    package func createLinks(to references: [MediaReference], _ details: LinkDetails) async throws -> LinkDocument {
        var known: [MediaReference] = []
        // A caller that has the list of titles may pass a reference that has only an id.
        for reference in references { known.append(try await ReferenceDocument(reference).reference(in: vault)) }
        return try await createLinks(to: known, details, endingWith: nil, by: nil)
    }

    /// Creates playback links on behalf of a request.
    ///
    /// - Parameters:
    ///   - access: the token or session whose end also ends links without a name; nil if they are valid until they
    ///     expire.
    ///   - holder: the credential that the request presented; nil if the vault's own user creates the links.
    func createLinks(
        to references: [MediaReference], _ details: LinkDetails, endingWith access: TokenAccess?,
        by holder: TokenAccess?
    ) async throws -> LinkDocument {
        let now = vault.now
        let expiry = try GrantExpiry(
            lifetime: details.lifetime, expires: details.expires, standard: .after(GrantExpiry.standardOfLinks))
        guard !references.contains(where: \.url.hasCredentials) else {
            throw VaultError(
                .invalidURL, "a playback link cannot carry a user name and password; remove them from the URL")
        }
        if let name = details.name {
            let issued = try await vault.createLinks(
                named: name, to: references, expires: try expiry.end(now: now), by: holder)
            return LinkDocument(paths: issued.paths, expires: issued.grant.expires, issued.grant)
        }
        let end = try expiry.endOfUnnamed(now: now)
        var paths: [String] = []
        for reference in references {
            paths.append(try await vault.playbackPath(for: reference, expires: end, endingWith: access))
        }
        return LinkDocument(paths: paths, expires: end)
    }

    package func sessions() async throws -> SessionsDocument {
        SessionsDocument(
            sessions: vault.issued(.sessions).compactMap { SessionDocument($0, among: vault.viewers) },
            damaged: vault.unreadableGrants)
    }

    package func revoke(_ family: AccessGrant.Family, id: String?) async throws -> RevocationDocument {
        guard let id else { return RevocationDocument(revoked: try await vault.revokeAll(family)) }
        let chosen = vault.issued(family).filter { $0.shortID == id }
        guard !chosen.isEmpty else {
            throw VaultError(.notHeld, "there is no \(family.noun) with this id; list them")
        }
        return RevocationDocument(revoked: try await vault.revoke(chosen))
    }
}
