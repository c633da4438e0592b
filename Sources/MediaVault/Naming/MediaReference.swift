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
