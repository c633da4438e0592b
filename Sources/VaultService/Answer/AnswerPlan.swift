import MediaVault
import VaultModel

/// The head of an answer with media, which is decided before any byte is sent.
struct AnswerPlan: Hashable, Sendable {
    let status: Int
    /// The fields that differ between answers from the same representation, which are those for range, length and
    /// timing.
    let ownFields: HeaderFields
    /// The number of bytes in the body, even if the body is omitted for HEAD; nil if it is unknown.
    let length: Int64?
    private let facts: MediaFacts
    private let content: Content

    /// The kind of content in the body.
    private enum Content: Hashable {
        case media
        case parts(type: String)
        /// No body. Fields about a body are omitted, because they would describe the client's representation (RFC 9110
        /// §15.4.5).
        case nothing
    }

    var cacheStatus: CacheStatus { facts.cacheStatus }

    /// All fields of the head.
    var fields: HeaderFields {
        var fields = ownFields
        fields.append(sharedFields)
        return fields
    }

    /// Creates the head of an answer with one range, or with the whole representation.
    ///
    /// - Parameter isRanged: whether the request has a range that applies.
    init(_ facts: MediaFacts, isRanged: Bool) {
        guard isRanged, !facts.isWholeAnswer, let range = facts.range, !range.isEmpty else {
            self.init(status: 200, facts, .media, length: facts.information.length)
            return
        }
        let whole = ContentRange.bytes(range, total: facts.information.length)
        self.init(status: 206, facts, .media, length: range.length, contentRange: whole)
    }

    /// Creates the head of an answer with several ranges. It has no `Content-Range`, which would indicate a single
    /// range.
    init(_ facts: MediaFacts, _ multipart: Multipart) {
        self.init(status: 206, facts, .parts(type: multipart.contentType), length: multipart.length)
    }

    /// Creates the head of an answer to a client that already has the representation.
    init(notModified facts: MediaFacts) {
        self.init(status: 304, facts, .nothing, length: 0)
    }

    private init(
        status: Int, _ facts: MediaFacts, _ content: Content, length: Int64?, contentRange: ContentRange? = nil
    ) {
        self.status = status
        self.length = length
        self.facts = facts
        self.content = content
        var fields = HeaderFields()
        if content != .nothing {
            if let contentRange { fields.append(name: "Content-Range", value: contentRange.description) }
            if let length { fields.append(name: "Content-Length", value: String(length)) }
        }
        if let timing = facts.timing { fields.append(name: "Server-Timing", value: timing.value) }
        ownFields = fields
    }

    /// The fields that answers from the same representation share if their bodies have the same type.
    var sharedFields: HeaderFields {
        var fields = HeaderFields()
        let type = facts.type
        let contentType: String? =
            switch content {
            case .media: type
            case .parts(let type): type
            case .nothing: nil
            }
        if let contentType {
            fields.append(name: "Content-Type", value: contentType)
            fields.append(name: "Accept-Ranges", value: facts.isWholeAnswer ? "none" : "bytes")
        }
        // A weak tag is omitted, because it does not identify bytes. Players would send it to request ranges, and would
        // get the whole representation.
        if !facts.entityTag.isWeak { fields.append(name: "ETag", value: facts.entityTag.description) }
        if let date = facts.lastModified { fields.append(name: "Last-Modified", value: date.description) }
        fields.append(name: "Cache-Status", value: facts.cacheStatus.value)
        fields.append(ProtectiveFields.ofMedia(type: type))
        return fields
    }
}

/// The facts from which the head of an answer is built.
struct MediaFacts: Hashable, Sendable {
    var information: ContentInformation
    /// The representation's entity tag. It is weak if nothing distinguishes the representation from another version.
    var entityTag: EntityTag
    /// The modification date that the origin sent; nil if it is absent or invalid.
    var lastModified: HTTPDate?
    /// The range that the body carries; nil if no bytes were requested, or the length is unknown.
    var range: ByteRange?
    /// Whether the answer must carry the whole representation, because ranges of it cannot be served yet.
    var isWholeAnswer: Bool
    var cacheStatus: CacheStatus
    /// The status code that the origin sent if the vault asked it to revalidate held bytes; nil if the vault did not.
    var originStatus: Int?
    var timing: ServerTiming?

    /// The media type.
    ///
    /// A value that is not exactly one type counts as unknown. The origin may have sent any value, and an older version
    /// of this service may have stored it.
    var type: String { information.type.flatMap { MediaType.one($0) } ?? MediaType.unknown }

    /// A copy for a viewer, which reveals nothing about the origin. It has no date, and the type's only parameter is
    /// the codecs.
    var withoutOrigin: MediaFacts {
        var facts = self
        facts.information.type = MediaType.withoutOrigin(type)
        facts.lastModified = nil
        return facts
    }
}

extension MediaFacts {
    /// - Parameters:
    ///   - judged: the facts on which the request was evaluated. The vault may have contacted the origin to get them.
    ///   - hasLooked: whether the vault has already requested the beginning from the origin for this request.
    ///   - now: the current time in seconds since 1970.
    init(_ reader: MediaReader, after judged: MediaFacts? = nil, hasLooked: Bool, now: Int64) {
        let originStatus = reader.originStatus ?? judged?.originStatus
        let source = hasLooked ? reader.source.afterLook(at: reader.range) : reader.source
        self.init(
            information: reader.information, entityTag: reader.entityTag,
            lastModified: .init(of: reader.information, now: now), range: reader.range,
            isWholeAnswer: reader.isWholeAnswer,
            cacheStatus: CacheStatus(
                source, reader.bypass(of: source), reader.staleness, originStatus: originStatus),
            originStatus: originStatus)
    }

    /// Creates the facts for bytes that are held and fresh.
    init(_ held: HeldMedia, now: Int64) {
        self.init(
            information: held.information, entityTag: held.entityTag,
            lastModified: .init(of: held.information, now: now), range: held.range, isWholeAnswer: false,
            cacheStatus: .hit)
    }

    /// Creates the facts for a request that needs no bytes.
    ///
    /// - Parameter hasLooked: whether the vault has already requested the beginning from the origin for this request.
    init(_ head: MediaHead, hasLooked: Bool, now: Int64) {
        let isKnown = head.isKnown && !hasLooked
        self.init(
            information: head.information, entityTag: head.entityTag,
            lastModified: .init(of: head.information, now: now), range: nil,
            isWholeAnswer: head.isWholeAnswer,
            // If the head is known, it is reported as held, although bytes may be missing, because nothing is fetched.
            cacheStatus: CacheStatus(
                isKnown ? .held : hasLooked ? .fetched : head.source, isKnown ? nil : head.bypass, head.staleness,
                originStatus: head.originStatus),
            originStatus: head.originStatus)
    }
}

extension MediaReader.Source {
    /// Returns the source of a range's bytes, given that the vault has just requested the beginning of the resource
    /// from the origin. Bytes of that beginning count as fetched.
    func afterLook(at range: ByteRange?) -> MediaReader.Source {
        guard self != .fetched, range?.lowerBound ?? 0 >= Int64(MediaReader.chunkBytes) else { return .fetched }
        return .partial
    }
}

extension HTTPDate {
    init?(of information: ContentInformation, now: Int64) {
        guard let text = information.validators.lastModified else { return nil }
        self.init(text, now: now)
    }
}

/// How long it took to produce an answer's head, for `Server-Timing`. The head cannot report later times.
struct ServerTiming: Hashable, Sendable {
    /// How long the vault took to find the resource and its first byte, whether held or fetched.
    let open: Duration
    /// How long it took from the arrival of the request until the head and the first byte were available; nil if no
    /// byte was requested.
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

/// The framing of the parts of a `multipart/byteranges` body (RFC 9110 §14.6).
struct Multipart: Hashable, Sendable {
    /// A random text, so that an origin cannot predict it and insert it into the media.
    let boundary: String
    /// The media type of each part.
    let type: String
    /// The length of the whole representation.
    let total: Int64
    /// The ranges of the parts. None is empty.
    let parts: [ByteRange]

    /// The media type of the whole answer.
    var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    /// Returns the text that precedes a part.
    func head(of part: ByteRange) -> String {
        "\r\n--\(boundary)\r\nContent-Type: \(type)\r\nContent-Range: "
            + ContentRange.bytes(part, total: total).description + "\r\n\r\n"
    }

    /// The text that follows the last part.
    var end: String { "\r\n--\(boundary)--\r\n" }

    /// The length of the body in bytes, including the parts.
    var length: Int64 {
        parts.reduce(Int64(end.utf8.count)) { $0 + Int64(head(of: $1).utf8.count) + $1.length }
    }
}
