/// What names a resource to the vault, and how its origin is asked for it.
public struct MediaReference: Hashable, Sendable {
    /// Where its bytes come from, and, unless ``contentID`` is there, what names it.
    public var url: MediaURL
    /// The caller's own name for the resource: it stays the same whatever address the bytes come from.
    public var contentID: String?

    /// A resource named by its URL, or by an id of the caller's.
    public init(_ url: MediaURL, contentID: String? = nil) {
        self.url = url
        self.contentID = contentID
    }
}
