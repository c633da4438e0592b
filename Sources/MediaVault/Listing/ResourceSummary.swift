import VaultStorage

/// What a vault holds of one resource.
public struct ResourceSummary: Hashable, Sendable {
    /// The URL as it was given first. It may carry a token in its query.
    public let url: String
    /// The length in bytes; nil while nobody knows.
    public let size: Int64?
    /// The ranges held, in ascending order.
    public let held: [ByteRange]
    /// The bytes held.
    public let bytes: Int64
    /// The media type, where it is known.
    public let type: String?
    /// The origin's entity tag, as HTTP spells it.
    public let etag: String?
    /// How long it is kept: `pinned`, `download` or `cache`.
    public let resourceClass: String
    /// The key generation that wraps its key.
    public let generation: Int
    /// The mode that it has for itself; nil where it has the vault's.
    public let mode: VaultMode?

    /// Whether every byte is held.
    public var isComplete: Bool { size == bytes }

    init(_ resource: StoredResource) {
        let held = resource.serving?.held ?? ByteRanges()
        let information = resource.serving?.info.information
        url = resource.metadata.url
        size = information?.length
        self.held = Array(held.ranges)
        bytes = held.byteCount
        type = information?.type
        etag = information?.validators.entityTag?.description
        resourceClass = resource.resourceClass.rawValue
        generation = resource.generation
        mode = resource.metadata.mode.flatMap { VaultMode(rawValue: $0) }
    }
}
