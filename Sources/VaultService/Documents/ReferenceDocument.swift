import Foundation
import MediaVault

/// What names a resource, in requests.
struct ReferenceDocument: Codable, Hashable, Sendable {
    /// The URL, with its query, and with credentials where it has some.
    let url: String
    /// The caller's own name for the resource.
    let contentID: String?

    init(url: String, contentID: String?) {
        self.url = url
        self.contentID = contentID
    }

    /// Tells a reference so that ``reference()`` gives the same again.
    init(_ reference: MediaReference) {
        let url = reference.url
        let credentials = url.userInfo.map { Self.escaped($0) + "@" } ?? ""
        self.init(
            url: url.absoluteString.replacing("://", with: "://" + credentials, maxReplacements: 1),
            contentID: reference.contentID)
    }

    /// What the library takes.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL`.
    func reference() throws -> MediaReference { MediaReference(try MediaURL(url), contentID: contentID) }

    private static func escaped(_ userInfo: String) -> String {
        // Of `user:password` the first colon alone is no part of either.
        userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }.joined(separator: ":")
    }
}
