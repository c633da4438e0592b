/// How far a download is.
public struct DownloadProgress: Hashable, Sendable {
    /// The bytes that are in the vault, or on their way into it.
    public let held: Int64
    /// The length; nil while nobody knows.
    public let total: Int64?
    /// The media type, where it is known.
    public let type: String?

    /// The kind of manifest it is, where it is one: then what it names is not fetched with it.
    public let manifest: ManifestKind?

    /// Whether nothing is missing.
    public var isComplete: Bool { held == total }
}
