/// What kind of list a resource is, where it is one that names media rather than media itself.
public enum ManifestKind: String, Hashable, Sendable {
    /// An HLS playlist (RFC 8216).
    case hls
    /// A DASH media presentation description (ISO/IEC 23009-1).
    case dash
}
