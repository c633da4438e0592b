package import MediaVault

/// What names a resource, as requests and the command line give it.
package struct ReferenceDocument: Codable, Hashable, Sendable {
    /// The URL as it was typed: with its query, and with credentials where it has some.
    package var url: String
    /// The caller's own name for the resource.
    package var contentID: String?

    package init(url: String, contentID: String? = nil) {
        self.url = url
        self.contentID = contentID
    }

    /// What the library takes.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL`.
    package func reference() throws -> MediaReference { MediaReference(try MediaURL(url), contentID: contentID) }
}
