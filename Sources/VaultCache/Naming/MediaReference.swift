public import VaultModel
import VaultStorage

/// What identifies a resource in the vault, and how to request the resource from its origin.
public struct MediaReference: Hashable, Sendable, CustomStringConvertible {
    /// The URL that the bytes come from. It also identifies the resource, unless ``contentID`` is set.
    public var url: MediaURL
    /// The caller's own name for the resource, which stays the same whatever URL the bytes come from. It has 1 to 512
    /// bytes of UTF-8 without control characters.
    public var contentID: String?
    /// The request header fields for the origin, such as `Authorization`.
    ///
    /// They are sealed with the resource and used for later fetches until a caller gives others; no other origin ever
    /// receives them. The identity that they carry becomes part of the resource's name, so that bytes sent to one user
    /// are never served to another.
    public var fields: HeaderFields
    /// The part of a cache key that stands for the user to whom the bytes were sent; nil unless a playback link carries
    /// it.
    package var principal: [UInt8]?
    /// Whether the reference comes from a playback link created for another resource in the same folder. Such a
    /// reference never identifies a resource stored for a principal.
    package var excludesPrincipals = false
    /// Whether a manifest or a redirect, rather than the operator, named the resource. If so, its bytes come only from
    /// public addresses.
    package var isDerived = false

    /// Whether the reference comes from a player's link rather than from the owner. If so, it does not reopen a
    /// resource that was just removed.
    package var isLinked = false

    /// Whether a link in a manifest may have led to the resource. A link that the operator made for this resource alone
    /// does not count.
    var isNamedByManifest: Bool { isDerived || excludesPrincipals || principal != nil }

    /// The id used to identify the resource in place of its URL and content id, including in requests to a service.
    package var titleID: TitleID?
    /// The name that this vault has stored for the resource with ``titleID``.
    package var stored: StoredName?

    /// Creates a reference to the resource with this URL, or with the caller's content id if there is one.
    public init(_ url: MediaURL, contentID: String? = nil, fields: HeaderFields = HeaderFields()) {
        self.url = url
        self.contentID = contentID
        self.fields = fields
    }

    /// The URL without its query, for messages and logs.
    public var description: String { url.description }
}

extension MediaReference {
    /// Creates a reference to the resource that has this id in a service.
    ///
    /// - Parameters:
    ///   - id: the resource's id.
    ///   - url: the URL that the service has for the resource, for messages.
    ///   - contentID: the content id that the service has for the resource.
    package init(_ id: TitleID, url: MediaURL, contentID: String?) {
        self.init(url, contentID: contentID)
        titleID = id
    }

    /// The maximum length of a content id, in bytes.
    public static let maxContentIDBytes = 512

    /// Returns the reference in the form that the vault uses.
    ///
    /// Its header fields and content id are checked, and a user name and password in the URL become an `Authorization`
    /// field.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the content id or a header field is invalid.
    package func settled() throws -> MediaReference {
        var settled = self
        if let contentID { try Self.check(contentID) }
        if let userInfo = url.userInfo {
            settled.url = url.withoutCredentials
            if fields["Authorization"] == nil {
                // A user name without a password means an empty password.
                let credentials = userInfo.contains(":") ? userInfo : userInfo + ":"
                settled.fields.append(
                    name: "Authorization", value: "Basic \(Base64.encode(Array(credentials.utf8)))")
            }
        }
        try settled.fields.requireSendable()
        return settled
    }

    /// The error to throw if the vault does not have the resource.
    package var notHeld: VaultError {
        VaultError(.notHeld, "the vault does not have \(url); give a title that it has", hint: .listTitles)
    }

    /// The error to throw if the header fields stand for a user other than the one for whom the resource was stored.
    package var heldForAnother: VaultError {
        VaultError(
            .notHeld,
            "the header fields stand for another user than the one whom the title was stored for; give its URL")
    }

    /// The error to throw if the reference names a small file in the pack of a title.
    package var packed: VaultError {
        VaultError(.invalidArgument, "\(url) is stored together with its title; name the title instead")
    }

    private static func check(_ contentID: String) throws {
        guard (1...maxContentIDBytes).contains(contentID.utf8.count),
            !contentID.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw VaultError(
                .invalidArgument,
                "a content id must have 1 to \(maxContentIDBytes) bytes and no control characters")
        }
    }
}
