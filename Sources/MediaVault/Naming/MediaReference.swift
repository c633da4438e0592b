import VaultCrypto
import VaultFetch
import VaultModel
import VaultStorage

/// What names a resource to the vault, and how its origin is asked for it.
public struct MediaReference: Hashable, Sendable, CustomStringConvertible {
    /// Where its bytes come from, and, unless ``contentID`` is there, what names it.
    public var url: MediaURL
    /// The caller's own name for the resource: it stays the same whatever address the bytes come from. From 1 to 512 bytes
    /// of UTF-8, no control characters.
    public var contentID: String?
    /// Fields to ask the origin with, such as `Authorization`. They are sealed with the resource and serve its later
    /// fills, until others are given; no other origin ever sees them.
    ///
    /// Who they identify takes part in the resource's name, so that what was sent to one user never answers another.
    public var fields: HeaderFields
    /// The part of a cache key that stands for whom the bytes were sent to, where an address for players carries it.
    package var principal: [UInt8]?
    /// Whether an address for players names it that was made for another resource of its folder: then nothing is meant that
    /// was stored for a principal.
    package var isNobodys = false
    /// Whether a manifest or a redirect has named it, not the operator: then its bytes come from public addresses alone.
    package var isDerived = false

    /// A resource named by its URL, or by an id of the caller's.
    public init(_ url: MediaURL, contentID: String? = nil, fields: HeaderFields = HeaderFields()) {
        self.url = url
        self.contentID = contentID
        self.fields = fields
    }

    /// The URL without its query: for messages and logs.
    public var description: String { url.description }
}

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

extension Vault {
    /// Which URLs name one resource: the vault's setting, the same for the library, the command and the service.
    ///
    /// - Throws: ``VaultError`` with code `integrity` where the settings do not open.
    public func keyPolicy() async throws -> KeyPolicy { try await names.policy() }

    /// Changes which URLs name one resource, for this run and all that follow.
    ///
    /// Readers and downloads that have begun go on as they are. What was stored under a name that no URL has any more is
    /// kept and listed, and is found again when the policy is changed back.
    ///
    /// - Throws: ``VaultError`` where the settings cannot be written; with code `owned` where this is not the owner.
    public func setKeyPolicy(_ policy: KeyPolicy) async throws {
        try await changeSettings(policy: { _ in policy })
    }
}
