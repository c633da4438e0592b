import MediaVault

/// The resources that the token of a request may play.
///
/// A token with the scope `play` plays only resources that are already in the vault, identified by id or URL. Otherwise
/// its holder could make the service request any URL, or fill a title that has a content id with bytes from another
/// origin.
struct PlayableReferences: Sendable {
    private let vault: Vault
    private let isAdmin: Bool

    init(_ vault: Vault, _ context: ServiceContext) { (self.vault, isAdmin) = (vault, context.isAdmin) }

    /// Returns the references to resources that the token may play.
    ///
    /// - Throws: as ``reference(of:)``.
    func references(of documents: [ReferenceDocument]) async throws -> [MediaReference] {
        guard !isAdmin else { return try await documents.references(in: vault) }
        return try await vault.titles.onOneThread {
            var references: [MediaReference] = []
            for document in documents { references.append(try await reference(of: document)) }
            return references
        }
    }

    /// Returns the reference to a resource that the token may play.
    ///
    /// - Throws: as ``ReferenceDocument/reference(in:)``, or ``VaultError`` with code `invalidArgument` or `notHeld` if
    ///   the token may not play the resource.
    func reference(of document: ReferenceDocument) async throws -> MediaReference {
        let reference = try await document.reference(in: vault)
        guard !isAdmin else { return reference }
        guard document.fields == nil, document.id != nil || document.contentID == nil, !reference.url.hasCredentials
        else {
            throw VaultError(
                .invalidArgument,
                "a token with the scope play names titles by id or url alone, without contentID, fields and credentials"
            )
        }
        guard let id = try await vault.titles.summary(of: reference)?.id else {
            throw VaultError(.notHeld, "the vault has no record of \(reference); fetch it first")
        }
        // The stored reference is used, because the client's spelling of the URL would be requested from the origin.
        // Moreover, a resource that only a manifest named must not be requested as if the operator had named it.
        return try await vault.titles.reference(of: id, fields: HeaderFields())
    }
}
