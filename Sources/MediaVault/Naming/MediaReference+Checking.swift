import VaultCrypto
import VaultFetch
import VaultModel

extension MediaReference {
    /// The longest id of a caller's, in bytes.
    public static let longestContentID = 512

    /// The reference as the vault uses it: checked, and a name and password before the URL's host made the field that
    /// they stand for.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where the id or a field cannot be used.
    package func settled() throws -> MediaReference {
        var settled = self
        if let contentID { try Self.check(contentID) }
        if let userInfo = url.userInfo {
            settled.url = url.withoutCredentials
            if fields["Authorization"] == nil {
                // A user without a password has an empty one.
                let credentials = userInfo.contains(":") ? userInfo : userInfo + ":"
                settled.fields.append(
                    name: "Authorization", value: "Basic \(Base64.encode(Array(credentials.utf8)))")
            }
        }
        try RequestFields.check(settled.fields)
        return settled
    }

    private static func check(_ contentID: String) throws {
        guard (1...longestContentID).contains(contentID.utf8.count),
            !contentID.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw VaultError(
                .invalidArgument,
                "a content id has 1 to \(longestContentID) bytes and no control character; correct it")
        }
    }
}
