import MediaVault
import VaultModel

/// What an answer's head is made from.
struct MediaFacts: Hashable, Sendable {
    var information: ContentInformation
    /// The tag of the representation: weak where nothing tells it from another version.
    var entityTag: EntityTag
    /// When the origin says that it was last modified; nil where it does not, or names no date.
    var lastModified: HTTPDate?
    /// The bytes that will follow; nil where the length is unknown.
    var range: ByteRange?
    /// Whether ranges of this resource cannot be answered yet.
    var isWholeAnswer: Bool
    var cacheStatus: CacheStatus
    /// What the origin answered when it was asked whether what is held is still its own; nil where it was not.
    var originStatus: Int?
    var timing: ServerTiming?

    /// The media type. An origin may have sent anything, to an older version too: what is not exactly one type is none.
    var type: String { information.type.flatMap { MediaType.one($0) } ?? MediaType.unknown }
}

extension MediaFacts {
    /// - Parameters:
    ///   - judged: the facts that the request was judged by: the origin may have been asked for them.
    ///   - now: seconds since 1970.
    init(_ reader: MediaReader, after judged: MediaFacts? = nil, now: Int64) {
        let originStatus = reader.originStatus ?? judged?.originStatus
        self.init(
            information: reader.information, entityTag: reader.entityTag,
            lastModified: .init(of: reader.information, now: now), range: reader.range,
            isWholeAnswer: reader.isWholeAnswer,
            cacheStatus: CacheStatus(reader.source, reader.bypass, reader.staleness, originStatus: originStatus),
            originStatus: originStatus)
    }

    /// The facts of bytes that are held and fresh.
    init(_ held: HeldMedia, now: Int64) {
        self.init(
            information: held.information, entityTag: held.entityTag,
            lastModified: .init(of: held.information, now: now), range: held.range, isWholeAnswer: false,
            cacheStatus: .hit)
    }

    /// The facts for a request that wants no bytes.
    init(_ head: MediaHead, now: Int64) {
        self.init(
            information: head.information, entityTag: head.entityTag,
            lastModified: .init(of: head.information, now: now), range: nil,
            isWholeAnswer: head.isWholeAnswer,
            // What was known is told without a byte that is missing.
            cacheStatus: CacheStatus(
                head.isKnown ? .held : head.source, head.isKnown ? nil : head.bypass, head.staleness,
                originStatus: head.originStatus),
            originStatus: head.originStatus)
    }
}

extension HTTPDate {
    fileprivate init?(of information: ContentInformation, now: Int64) {
        guard let text = information.validators.lastModified else { return nil }
        self.init(text, now: now)
    }
}
