import MediaVault
import VaultModel

/// The head of an answer with media, decided before a byte is sent.
struct AnswerPlan: Hashable, Sendable {
    let status: Int
    /// The fields that differ among the answers of one representation: range, length and timing.
    let ownFields: HeaderFields
    /// The bytes that follow, or would follow were it not for HEAD; nil where that is not known.
    let length: Int64?
    private let facts: MediaFacts
    private let type: String?

    var cacheStatus: CacheStatus { facts.cacheStatus }

    /// All of the head's fields.
    var fields: HeaderFields {
        var fields = ownFields
        fields.append(sharedFields)
        return fields
    }

    /// An answer with one range, or with everything.
    ///
    /// - Parameter isRanged: whether the request asked for a range that counts.
    init(_ facts: MediaFacts, isRanged: Bool) {
        guard isRanged, !facts.isWholeAnswer, let range = facts.range, !range.isEmpty else {
            self.init(status: 200, facts, type: facts.type, length: facts.information.length)
            return
        }
        let whole = ContentRange.bytes(range, total: facts.information.length)
        self.init(status: 206, facts, type: facts.type, length: range.length, contentRange: whole)
    }

    /// An answer with several ranges. Its own `Content-Range` would make it one of a single range.
    init(_ facts: MediaFacts, _ multipart: Multipart) {
        self.init(status: 206, facts, type: multipart.contentType, length: multipart.length)
    }

    /// The client has what it asks for.
    init(notModified facts: MediaFacts) {
        self.init(status: 304, facts, type: nil, length: 0)
    }

    private init(
        status: Int, _ facts: MediaFacts, type: String?, length: Int64?, contentRange: ContentRange? = nil
    ) {
        self.status = status
        self.length = length
        self.facts = facts
        self.type = type
        var fields = HeaderFields()
        // What describes a body would, without one, describe what the client has (RFC 9110 §15.4.5).
        if type != nil {
            if let contentRange { fields.append(name: "Content-Range", value: contentRange.description) }
            if let length { fields.append(name: "Content-Length", value: String(length)) }
        }
        if let timing = facts.timing { fields.append(name: "Server-Timing", value: timing.value) }
        ownFields = fields
    }

    /// The fields that the answers of one representation have in common, where the type of their bodies is one.
    var sharedFields: HeaderFields {
        var fields = HeaderFields()
        if let type {
            fields.append(name: "Content-Type", value: type)
            fields.append(name: "Accept-Ranges", value: facts.isWholeAnswer ? "none" : "bytes")
        }
        // A weak one is no name for bytes: players would ask by it, and be given the whole.
        if !facts.entityTag.isWeak { fields.append(name: "ETag", value: facts.entityTag.description) }
        if let date = facts.lastModified { fields.append(name: "Last-Modified", value: date.description) }
        fields.append(name: "Cache-Status", value: facts.cacheStatus.value)
        fields.append(ProtectiveFields.ofMedia(type: facts.type))
        return fields
    }
}

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

/// How long an answer took up to its head, as `Server-Timing` tells it. What comes later cannot be told.
struct ServerTiming: Hashable, Sendable {
    /// What the vault took to find the resource and its first byte, held or fetched.
    let open: Duration
    /// From the request until the head, the first byte at hand; nil where no byte was asked for.
    let firstByte: Duration?

    /// The field's value, in milliseconds.
    var value: String {
        let open = "open;dur=\(Self.milliseconds(open))"
        return firstByte.map { "\(open), first-byte;dur=\(Self.milliseconds($0))" } ?? open
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let microseconds = max(0, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
        let fraction = microseconds % 1000
        return "\(microseconds / 1000).\(fraction < 10 ? "00" : fraction < 100 ? "0" : "")\(fraction)"
    }
}

/// What stands around the parts of a `multipart/byteranges` body (RFC 9110 §14.6).
struct Multipart: Hashable, Sendable {
    /// Text that does not occur in the media, but for a chance that nobody can bring about.
    let boundary: String
    /// The media type of each part.
    let type: String
    /// The length of the whole.
    let total: Int64
    /// None is empty.
    let parts: [ByteRange]

    /// The media type of the answer.
    var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    /// What stands before a part.
    func head(of part: ByteRange) -> String {
        "\r\n--\(boundary)\r\nContent-Type: \(type)\r\nContent-Range: "
            + ContentRange.bytes(part, total: total).description + "\r\n\r\n"
    }

    /// What stands after the last part.
    var end: String { "\r\n--\(boundary)--\r\n" }

    /// The length of the body, parts and all.
    var length: Int64 {
        parts.reduce(Int64(end.utf8.count)) { $0 + Int64(head(of: $1).utf8.count) + $1.length }
    }
}
