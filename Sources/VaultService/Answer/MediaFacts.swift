import MediaVault
import VaultModel

/// What an answer's head is made from.
struct MediaFacts: Hashable, Sendable {
    /// Where the bytes come from (RFC 9211).
    enum CacheStatus: String, Sendable {
        case hit = "MediaVault; hit"
        case miss = "MediaVault; fwd=miss; stored"
        case partial = "MediaVault; fwd=partial; stored"
    }

    var information: ContentInformation
    /// The strong tag of the representation.
    var entityTag: EntityTag?
    /// The bytes that will follow; nil where the length is unknown.
    var range: ByteRange?
    /// Whether ranges of this resource cannot be answered yet.
    var isWholeAnswer: Bool
    var cacheStatus: CacheStatus
}

extension MediaFacts {
    init(_ reader: MediaReader) {
        let cacheStatus: CacheStatus =
            switch reader.source {
            case .held: .hit
            case .fetched: .miss
            case .partial: .partial
            }
        self.init(
            information: reader.information, entityTag: reader.entityTag, range: reader.range,
            isWholeAnswer: reader.isWholeAnswer, cacheStatus: cacheStatus)
    }

    /// The facts for a request that wants no bytes, from what the vault has written down.
    init(_ information: ContentInformation, _ summary: ResourceSummary?) {
        let held = ByteRanges(summary?.held ?? [])
        let isWholeHeld = information.length.map { held.gaps(in: 0..<$0).isEmpty } ?? false
        self.init(
            information: information,
            entityTag: summary?.etag.flatMap { EntityTag($0) }.flatMap { $0.isWeak ? nil : $0 },
            range: nil,
            isWholeAnswer: !isWholeHeld && (!information.supportsRanges || information.length == nil),
            cacheStatus: isWholeHeld ? .hit : held.isEmpty ? .miss : .partial)
    }
}
