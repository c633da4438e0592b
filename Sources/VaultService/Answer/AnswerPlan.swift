import MediaVault
import VaultModel

/// The head of an answer with media, decided before a byte is sent.
struct AnswerPlan: Hashable, Sendable {
    let status: Int
    /// The fields that differ among the answers of one representation: range, length and timing.
    let ownFields: HeaderFields
    /// The number of bytes in the body, even if HEAD omits it; nil if unknown.
    let length: Int64?
    private let facts: MediaFacts
    private let content: Content

    /// What the body contains.
    private enum Content: Hashable {
        case media
        case parts(type: String)
        /// Nothing: fields about a body would describe the client's representation (RFC 9110 §15.4.5).
        case nothing
    }

    var cacheStatus: CacheStatus { facts.cacheStatus }

    /// All fields of the head.
    var fields: HeaderFields {
        var fields = ownFields
        fields.append(sharedFields)
        return fields
    }

    /// Creates an answer with one range, or with everything.
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

    /// Creates an answer with several ranges, without `Content-Range`, which would mark a single range.
    init(_ facts: MediaFacts, _ multipart: Multipart) {
        self.init(status: 206, facts, .parts(type: multipart.contentType), length: multipart.length)
    }

    /// Creates an answer to a client that already has the representation.
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

    /// The fields that answers of one representation share if their bodies have the same type.
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
        // A weak tag does not identify bytes: players would use it for ranges, and get the whole representation.
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
    /// The tag of the representation; weak if nothing distinguishes it from another version.
    var entityTag: EntityTag
    /// The modification date from the origin; nil if it is absent or invalid.
    var lastModified: HTTPDate?
    /// The range of the body; nil if the length is unknown.
    var range: ByteRange?
    /// Whether ranges of this resource cannot be served yet.
    var isWholeAnswer: Bool
    var cacheStatus: CacheStatus
    /// The origin's status if the vault asked it to revalidate held bytes; nil if it did not.
    var originStatus: Int?
    var timing: ServerTiming?

    /// The media type.
    ///
    /// The origin may have sent any value, perhaps to an older version of this service: a value that is not exactly one
    /// type counts as unknown.
    var type: String { information.type.flatMap { MediaType.one($0) } ?? MediaType.unknown }

    /// A copy for a viewer that reveals nothing about the origin: it has no date, and of the type's parameters only the
    /// codecs.
    var withoutOrigin: MediaFacts {
        var facts = self
        facts.information.type = MediaType.withoutOrigin(type)
        facts.lastModified = nil
        return facts
    }
}

extension MediaFacts {
    /// - Parameters:
    ///   - judged: the facts on which the request was evaluated; the vault may have contacted the origin for them.
    ///   - hasLooked: whether the vault has already requested the beginning from the origin for this request.
    ///   - now: seconds since 1970.
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

    /// Creates the facts of held and fresh bytes.
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
            // A known head is reported without fetching any missing bytes.
            cacheStatus: CacheStatus(
                isKnown ? .held : hasLooked ? .fetched : head.source, isKnown ? nil : head.bypass, head.staleness,
                originStatus: head.originStatus),
            originStatus: head.originStatus)
    }
}

extension MediaReader.Source {
    /// Returns where the bytes of a range were before the vault requested the beginning of the resource from the
    /// origin.
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

/// How long an answer took up to its head, for `Server-Timing`; the head cannot report later times.
struct ServerTiming: Hashable, Sendable {
    /// How long the vault took to find the resource and its first byte, whether held or fetched.
    let open: Duration
    /// The time from the request to the head, with the first byte available; nil if no byte was requested.
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
    /// A random text that an origin cannot predict and insert into the media.
    let boundary: String
    /// The media type of each part.
    let type: String
    /// The length of the whole representation.
    let total: Int64
    /// The ranges of the parts; none is empty.
    let parts: [ByteRange]

    /// The media type of the answer.
    var contentType: String { "multipart/byteranges; boundary=\(boundary)" }

    /// Returns the text before a part.
    func head(of part: ByteRange) -> String {
        "\r\n--\(boundary)\r\nContent-Type: \(type)\r\nContent-Range: "
            + ContentRange.bytes(part, total: total).description + "\r\n\r\n"
    }

    /// The text after the last part.
    var end: String { "\r\n--\(boundary)--\r\n" }

    /// The length of the body in bytes, including the parts.
    var length: Int64 {
        parts.reduce(Int64(end.utf8.count)) { $0 + Int64(head(of: $1).utf8.count) + $1.length }
    }
}
