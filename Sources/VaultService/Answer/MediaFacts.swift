import MediaVault
import VaultModel

/// What an answer's head is made from.
struct MediaFacts: Hashable, Sendable {
    /// Where the bytes come from (RFC 9211).
    enum CacheStatus: Hashable, Sendable {
        case hit, miss, partial
        /// Handed on without being stored.
        case bypass(StoreRefusal)
        /// Held, and not found to be current.
        case stale(Staleness)

        /// The field's value.
        var value: String {
            switch self {
            case .hit: "MediaVault; hit"
            case .miss: "MediaVault; fwd=miss; stored"
            case .partial: "MediaVault; fwd=partial; stored"
            case .bypass(let reason): "MediaVault; fwd=bypass; detail=\(reason.rawValue)"
            // Where the mode forbids to ask, nothing was forwarded.
            case .stale(let reason) where reason.isByMode: "MediaVault; hit; detail=stale"
            case .stale(let reason): "MediaVault; fwd=stale; detail=\(reason.rawValue)"
            }
        }
    }

    var information: ContentInformation
    /// The strong tag of the representation.
    var entityTag: EntityTag
    /// The bytes that will follow; nil where the length is unknown.
    var range: ByteRange?
    /// Whether ranges of this resource cannot be answered yet.
    var isWholeAnswer: Bool
    var cacheStatus: CacheStatus
}

extension MediaFacts {
    init(_ reader: MediaReader) {
        self.init(
            information: reader.information, entityTag: reader.entityTag, range: reader.range,
            isWholeAnswer: reader.isWholeAnswer,
            cacheStatus: CacheStatus(reader.source, reader.bypass, reader.staleness))
    }

    /// The facts for a request that wants no bytes.
    init(_ head: MediaHead) {
        self.init(
            information: head.information, entityTag: head.entityTag, range: nil, isWholeAnswer: head.isWholeAnswer,
            cacheStatus: CacheStatus(head.source, head.bypass, head.staleness))
    }
}

extension MediaFacts.CacheStatus {
    init(_ source: MediaReader.Source, _ bypass: StoreRefusal?, _ staleness: Staleness? = nil) {
        self =
            switch (source, bypass, staleness) {
            case (.held, _, let reason?): .stale(reason)
            case (_, _, let reason?) where !reason.isByMode: .stale(reason)
            case (.held, _, nil): .hit
            case (_, let reason?, _): .bypass(reason)
            case (.fetched, nil, _): .miss
            case (.partial, nil, _): .partial
            }
    }
}
