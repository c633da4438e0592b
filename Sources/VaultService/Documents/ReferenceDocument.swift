import Foundation
import MediaVault

/// What names a resource, in requests.
struct ReferenceDocument: Codable, Hashable, Sendable {
    /// The URL, with its query, and with credentials where it has some.
    let url: String
    /// The caller's own name for the resource.
    let contentID: String?
    /// Request fields for its origin, name and value. They are secrets: they stand in bodies, never in a query.
    let fields: [[String]]?

    init(url: String, contentID: String?, fields: [[String]]? = nil) {
        self.url = url
        self.contentID = contentID
        self.fields = fields
    }

    /// Tells a reference so that ``reference()`` gives the same again.
    init(_ reference: MediaReference) {
        let url = reference.url
        let credentials = url.userInfo.map { Self.escaped($0) + "@" } ?? ""
        self.init(
            url: url.absoluteString.replacing("://", with: "://" + credentials, maxReplacements: 1),
            contentID: reference.contentID,
            fields: reference.fields.fields.isEmpty ? nil : reference.fields.fields.map { [$0.name, $0.value] })
    }

    /// What the library takes.
    ///
    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func reference() throws -> MediaReference {
        var given = HeaderFields()
        for field in fields ?? [] {
            guard field.count == 2 else {
                throw VaultError(.invalidArgument, "a request field is a name and a value; correct it")
            }
            given.append(name: field[0], value: field[1])
        }
        let reference = MediaReference(try MediaURL(url), contentID: contentID, fields: given)
        // What cannot be used is refused before an answer begins.
        _ = try reference.settled()
        return reference
    }

    private static func escaped(_ userInfo: String) -> String {
        // Of `user:password` the first colon alone is no part of either.
        userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "" }.joined(separator: ":")
    }
}
