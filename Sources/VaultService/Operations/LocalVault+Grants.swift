package import MediaVault
import VaultModel

// Playback links.
extension LocalVault {
    package func createLinks(to references: [MediaReference], _ details: LinkDetails) async throws -> LinkDocument {
        // A caller that has the list of titles may pass references that have only an id.
        let known = try await references.map { ReferenceDocument($0) }.references(in: vault)
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
            let issued = try await vault.access.createLinks(
                named: name, to: references, expires: try expiry.end(now: now), by: holder)
            return LinkDocument(paths: issued.paths, expires: issued.grant.expires, issued.grant)
        }
        let end = try expiry.endOfUnnamed(now: now)
        let paths = try await vault.titles.onOneThread {
            var paths: [String] = []
            for reference in references {
                paths.append(try await vault.access.playbackPath(for: reference, expires: end, endingWith: access))
            }
            return paths
        }
        return LinkDocument(paths: paths, expires: end)
    }
}
