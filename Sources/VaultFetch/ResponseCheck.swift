package import VaultModel

/// Judges an answer by what was asked and what is known, before a byte of it is used.
package enum ResponseCheck {
    /// What the answer carries and which representation it belongs to.
    ///
    /// - Throws: ``OriginFailure`` of kind `invalidResponse` where the answer cannot be one to what was asked, `refused` where it
    ///   is an error status.
    package static func judge(
        _ head: OriginHead, asked: OriginRequest, known: KnownRepresentation? = nil
    ) throws(OriginFailure) -> ResponseDecision {
        let content = try content(of: head, asked: asked)
        guard content.length ?? 0 <= ContentInformation.mostBytes else {
            throw invalidResponse("the length it claims is more than any medium has")
        }
        if case .unsatisfiable(nil) = content, let first = asked.first, first < known?.length ?? 0 {
            throw invalidResponse("a range is refused though it lies within the length")
        }
        guard let known, !belongs(content, of: head, to: known, asked: asked) else { return .current(content) }
        return .changed(content)
    }

    /// What the answer tells of its representation, for the vault to keep.
    ///
    /// Of a 416 only the length is taken: its type and tags are those of the error page.
    package static func information(
        of head: OriginHead, asked: OriginRequest, content: ResponseContent
    ) -> ContentInformation {
        let guess = MediaType.guess(path: asked.url.path)
        switch content {
        case .partial:
            return ContentInformation(
                length: content.length, type: type(of: head, else: guess), validators: head.validators,
                supportsRanges: true)
        case .whole:
            return ContentInformation(
                length: content.length, type: type(of: head, else: guess), validators: head.validators,
                supportsRanges: asked.method == .head && acceptsByteRanges(head))
        case .unsatisfiable:
            return ContentInformation(
                length: content.length, type: guess, validators: Validators(), supportsRanges: false)
        }
    }

    private static func content(of head: OriginHead, asked: OriginRequest) throws(OriginFailure) -> ResponseContent {
        switch head.status {
        case 200: return try whole(head, asked: asked)
        case 206: return try part(head, asked: asked)
        case 416: return try unsatisfiable(head, asked: asked)
        case 400...599:
            let retryAfter = RetryAfter.seconds(in: head.fields)
            throw OriginFailure(.refused(status: head.status, retryAfter: retryAfter), "the answer was \(head.status)")
        default: throw invalidResponse("status \(head.status) answers no request for bytes")
        }
    }

    private static func whole(_ head: OriginHead, asked: OriginRequest) throws(OriginFailure) -> ResponseContent {
        guard isIdentity(head) else { throw invalidResponse("the content is encoded though identity was asked for") }
        let length = try contentLength(head)
        if asked.method == .get, let label = head.fields["Content-Range"].flatMap({ ContentRange($0) }) {
            guard case .bytes(let range, let total) = label, range.lowerBound == 0, total ?? length == range.upperBound
            else { throw invalidResponse("a part is sent as if it were the whole") }
        }
        return .whole(length: length)
    }

    private static func part(_ head: OriginHead, asked: OriginRequest) throws(OriginFailure) -> ResponseContent {
        guard let first = asked.first else { throw invalidResponse("a part is sent though the whole was asked for") }
        guard isIdentity(head) else { throw invalidResponse("a part is sent of encoded content") }
        guard head.fields["Content-Type"].map(mediaType) != "multipart/byteranges" else {
            throw invalidResponse("several parts are sent though one was asked for")
        }
        let labels = head.fields.values("Content-Range")
        guard labels.count == 1, case .bytes(let range, let total) = ContentRange(labels[0]) else {
            throw invalidResponse("a part is sent without one valid Content-Range")
        }
        guard range.lowerBound == first, range.upperBound <= asked.end ?? .max else {
            throw invalidResponse("another part is sent than was asked for")
        }
        if let length = try contentLength(head), length != range.length {
            throw invalidResponse("Content-Length and Content-Range contradict each other")
        }
        return .partial(range, total: total)
    }

    private static func unsatisfiable(_ head: OriginHead, asked: OriginRequest) throws(OriginFailure) -> ResponseContent
    {
        guard let first = asked.first else { throw invalidResponse("a range is refused though none was asked for") }
        guard case .unsatisfied(let total) = head.fields["Content-Range"].flatMap({ ContentRange($0) }) else {
            return .unsatisfiable(total: nil)
        }
        guard first >= total else { throw invalidResponse("a range is refused though it lies within the length") }
        return .unsatisfiable(total: total)
    }

    private static func belongs(
        _ content: ResponseContent, of head: OriginHead, to known: KnownRepresentation, asked: OriginRequest
    ) -> Bool {
        if let length = known.length {
            if let said = content.length, said != length { return false }
            if case .partial(let range, _) = content, range.upperBound > length { return false }
        }
        if case .unsatisfiable = content { return true }
        return known.validators.agree(with: head.validators) || leavesOutDate(head, known: known, asked: asked)
    }

    /// A 206 to a date in `If-Range` may leave `Last-Modified` out (RFC 9110 §15.3.7): answering with a part says that
    /// the date still holds. An entity tag may not be left out.
    private static func leavesOutDate(_ head: OriginHead, known: KnownRepresentation, asked: OriginRequest) -> Bool {
        head.status == 206 && head.validators == Validators() && known.validators.strongTag == nil
            && asked.ifRange != nil && asked.ifRange == known.validators.lastModified
    }

    /// The one length that all `Content-Length` fields give; nil where there is none, or where the transfer coding
    /// takes its place (RFC 9112 §6.3).
    private static func contentLength(_ head: OriginHead) throws(OriginFailure) -> Int64? {
        guard head.fields["Transfer-Encoding"] == nil else { return nil }
        let texts = Set(members(of: "Content-Length", in: head))
        guard let text = texts.first else { return nil }
        guard texts.count == 1, let length = DecimalNumber.exact(text) else {
            throw invalidResponse("Content-Length is not one number")
        }
        return length
    }

    private static func isIdentity(_ head: OriginHead) -> Bool {
        members(of: "Content-Encoding", in: head).allSatisfy { $0.isEmpty || $0.isEqualIgnoringCase("identity") }
    }

    private static func acceptsByteRanges(_ head: OriginHead) -> Bool {
        members(of: "Accept-Ranges", in: head).contains { $0.isEqualIgnoringCase("bytes") }
    }

    private static func members(of name: String, in head: OriginHead) -> [Substring] {
        head.fields.values(name)
            .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map { $0.trimmingBlanks() }
    }

    /// The one media type that the answer names. Anything else in its place, two fields among it, is bytes of no type.
    private static func type(of head: OriginHead, else guess: String?) -> String? {
        let said = head.fields.values("Content-Type").filter { !$0.isEmpty }
        guard !said.isEmpty else { return guess }
        guard said.count == 1, let type = MediaType.one(said[0]) else { return MediaType.unknown }
        let saysNothing = ["application/octet-stream", "binary/octet-stream"].contains(mediaType(type))
        return saysNothing ? guess ?? type : type
    }

    private static func mediaType(_ contentType: String) -> String {
        contentType.prefix { $0 != ";" }.trimmingBlanks().lowercased()
    }

    private static func invalidResponse(_ reason: String) -> OriginFailure { OriginFailure(.invalidResponse, reason) }
}

/// What an answer that may be used carries.
package enum ResponseContent: Hashable, Sendable {
    /// These bytes of the representation, perhaps fewer than were asked for, and its length where the origin says it.
    case partial(ByteRange, total: Int64?)
    /// All of it, from byte 0; to a HEAD, what a GET would carry.
    case whole(length: Int64?)
    /// Nothing: the representation ends at or before the first byte asked for.
    case unsatisfiable(total: Int64?)

    /// The representation's length, where the answer says it.
    package var length: Int64? {
        switch self {
        case .partial(_, let length), .whole(let length), .unsatisfiable(let length): length
        }
    }
}

/// Which representation an answer belongs to, and what it carries.
package enum ResponseDecision: Hashable, Sendable {
    /// The known representation; any, where none was known.
    case current(ResponseContent)
    /// Another one than is known: its bytes may be used, but never beside those of the known one.
    case changed(ResponseContent)

    /// What the answer carries, of whichever representation.
    package var content: ResponseContent {
        switch self {
        case .current(let content), .changed(let content): content
        }
    }
}

/// What is known of a representation before an answer comes: what earlier answers said, or the index.
package struct KnownRepresentation: Hashable, Sendable {
    /// The validators it was stored under.
    package var validators: Validators
    /// Its length, where an answer has given it.
    package var length: Int64?

    package init(validators: Validators, length: Int64?) {
        self.validators = validators
        self.length = length
    }
}

/// Judges the answer to a question whether a representation is still the one that is known (RFC 9111 §4.3.3).
package enum ValidationCheck {
    /// Whether it is: a 304 says so, and so does any answer whose validators and length agree.
    ///
    /// - Throws: ``OriginFailure`` as ``ResponseCheck``, and of kind `invalidResponse` for a 304 that nothing was asked by.
    package static func isSame(
        _ head: OriginHead, asked: OriginRequest, known: KnownRepresentation
    ) throws(OriginFailure) -> Bool {
        guard head.status == 304 else {
            if case .current = try ResponseCheck.judge(head, asked: asked, known: known) { return true }
            return false
        }
        guard let validators = asked.ifChangedFrom, validators != Validators() else {
            throw OriginFailure(.invalidResponse, "the answer was 304 though nothing was asked by it")
        }
        // One that names another tag speaks of another representation (RFC 9111 §4.3.4).
        guard let mine = validators.entityTag, let theirs = head.validators.entityTag else { return true }
        return mine.matchesWeakly(theirs)
    }
}

/// The value of `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The longest time that is believed: a week. An origin that means longer may say so again then.
    static let longest = 604_800

    /// The seconds to wait, ``longest`` at most; nil where the field is absent or says nothing usable.
    ///
    /// A date counts from the answer's own `Date`, so that a wrong clock on either side does no harm.
    static func seconds(in fields: HeaderFields) -> Int? {
        guard let value = fields["Retry-After"] else { return nil }
        if let seconds = DecimalNumber.clamped(value) { return Int(min(seconds, Int64(longest))) }
        // Both times are the origin's: the century of an obsolete spelling is told by no clock of ours.
        guard let now = fields["Date"].flatMap({ HTTPDate($0, now: 0) }), let then = HTTPDate(value, now: now.seconds)
        else { return nil }
        return Int(min(max(0, then.seconds - now.seconds), Int64(longest)))
    }
}
