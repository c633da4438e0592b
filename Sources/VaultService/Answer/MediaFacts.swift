import MediaVault
import VaultModel

/// What an answer's head is made from.
struct MediaFacts: Hashable, Sendable {
    /// Where the bytes come from (RFC 9211).
    enum CacheStatus: Hashable, Sendable {
        case hit, miss, partial
        /// Handed on without being stored.
        case bypass(StoreRefusal)

        /// The field's value.
        var value: String {
            switch self {
            case .hit: "MediaVault; hit"
            case .miss: "MediaVault; fwd=miss; stored"
            case .partial: "MediaVault; fwd=partial; stored"
            case .bypass(let reason): "MediaVault; fwd=bypass; detail=\(reason.rawValue)"
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
            isWholeAnswer: reader.isWholeAnswer, cacheStatus: CacheStatus(reader.source, reader.bypass))
    }

    /// The facts for a request that wants no bytes.
    init(_ head: MediaHead) {
        self.init(
            information: head.information, entityTag: head.entityTag, range: nil, isWholeAnswer: head.isWholeAnswer,
            cacheStatus: CacheStatus(head.source, head.bypass))
    }
}

extension MediaFacts.CacheStatus {
    init(_ source: MediaReader.Source, _ bypass: StoreRefusal?) {
        self =
            switch (source, bypass) {
            case (.held, _): .hit
            case (_, let reason?): .bypass(reason)
            case (.fetched, nil): .miss
            case (.partial, nil): .partial
            }
    }
}
