package import VaultModel

/// Checks a response against its request, before any of the response's bytes are used.
package enum ResponseCheck {
    /// Returns a response's content.
    ///
    /// - Parameter takesGzip: whether a whole representation may be compressed with gzip; ``isGzip(_:)`` returns
    ///   whether it is.
    /// - Throws: ``OriginFailure`` of kind `invalidResponse` if the response cannot belong to the request, or `refused`
    ///   if it has an error status.
    package static func content(
        of head: OriginHead, asked: OriginRequest, takesGzip: Bool = false
    ) throws(OriginFailure) -> ResponseContent {
        let content = try statedContent(of: head, asked: asked, takesGzip)
        guard content.length ?? 0 <= ContentInformation.maxBytes else {
            throw invalidResponse("the stated length is larger than any media file")
        }
        return content
    }

    /// Returns what a response states about its representation, for the vault to store.
    ///
    /// Of a 416 response, only the length is used, because its type and tags are those of the error page.
    package static func information(
        of head: OriginHead, asked: OriginRequest, content: ResponseContent
    ) -> ContentInformation {
        let guess = MediaType.guess(path: asked.url.path)
        var information =
            switch content {
            case .partial:
                ContentInformation(
                    length: content.length, type: type(of: head, else: guess), validators: head.validators,
                    supportsRanges: true, location: head.location)
            case .whole:
                ContentInformation(
                    length: content.length, type: type(of: head, else: guess), validators: head.validators,
                    supportsRanges: asked.method == .head && acceptsByteRanges(head), location: head.location)
            case .unsatisfiable:
                ContentInformation(
                    length: content.length, type: guess, validators: Validators(), supportsRanges: false)
            }
        // If the transport does not know the addresses, they are known to be public only if it may use no others.
        information.privateHosts = head.privateHosts ?? (asked.reach == .publicOnly ? [] : nil)
        return information
    }

    private static func statedContent(
        of head: OriginHead, asked: OriginRequest, _ takesGzip: Bool
    ) throws(OriginFailure) -> ResponseContent {
        switch head.status {
        case 200: return try whole(head, asked: asked, takesGzip)
        case 206: return try part(head, asked: asked)
        case 416: return try unsatisfiable(head, asked: asked)
        case 400...599:
            let retryAfter = RetryAfter.seconds(in: head.fields)
            throw OriginFailure(.refused(status: head.status, retryAfter: retryAfter), "HTTP \(head.status)")
        default: throw invalidResponse("unexpected status \(head.status)")
        }
    }

    private static func whole(
        _ head: OriginHead, asked: OriginRequest, _ takesGzip: Bool
    ) throws(OriginFailure) -> ResponseContent {
        guard isIdentity(head) || takesGzip && isGzip(head) else {
            throw invalidResponse("the content is encoded, but identity was requested")
        }
        let length = try contentLength(head)
        if asked.method == .get, let label = head.fields["Content-Range"].flatMap({ ContentRange($0) }) {
            guard case .bytes(let range, let total) = label, range.lowerBound == 0, total ?? length == range.upperBound
            else { throw invalidResponse("a part was sent as the whole") }
        }
        return .whole(length: length)
    }

    private static func part(_ head: OriginHead, asked: OriginRequest) throws(OriginFailure) -> ResponseContent {
        guard let first = asked.first else { throw invalidResponse("a part was sent, but the whole was requested") }
        guard isIdentity(head) else { throw invalidResponse("a part of encoded content was sent") }
        guard head.fields["Content-Type"].map(mediaType) != "multipart/byteranges" else {
            throw invalidResponse("several parts were sent, but one was requested")
        }
        let labels = head.fields.values("Content-Range")
        guard labels.count == 1, case .bytes(let range, let total) = ContentRange(labels[0]) else {
            throw invalidResponse("a part was sent without exactly one valid Content-Range")
        }
        guard range.lowerBound == first, range.upperBound <= asked.end ?? .max else {
            throw invalidResponse("a different part was sent than requested")
        }
        if let length = try contentLength(head), length != range.length {
            throw invalidResponse("Content-Length and Content-Range contradict each other")
        }
        return .partial(range, total: total)
    }

    private static func unsatisfiable(_ head: OriginHead, asked: OriginRequest) throws(OriginFailure) -> ResponseContent
    {
        guard let first = asked.first else { throw invalidResponse("a range was refused, but none was requested") }
        guard case .unsatisfied(let total) = head.fields["Content-Range"].flatMap({ ContentRange($0) }) else {
            return .unsatisfiable(total: nil)
        }
        guard first >= total else { throw invalidResponse("a range within the length was refused") }
        return .unsatisfiable(total: total)
    }

    /// Returns the length on which all `Content-Length` fields agree.
    ///
    /// - Returns: nil if there is no such field, or if a transfer coding takes its place (RFC 9112 §6.3).
    private static func contentLength(_ head: OriginHead) throws(OriginFailure) -> Int64? {
        guard head.fields["Transfer-Encoding"] == nil else { return nil }
        let texts = Set(members(of: "Content-Length", in: head))
        guard let text = texts.first else { return nil }
        guard texts.count == 1, let length = DecimalNumber.exact(text) else {
            throw invalidResponse("Content-Length is not a single number")
        }
        return length
    }

    /// The codings that change the bytes: those registered with IANA, and others that origins use. Anything else, such
    /// as `UTF-8` or `binary`, is a mistake made at upload, and the bytes are plain.
    private static let codings: Set<String> = [
        "aes128gcm", "aesgcm", "br", "brotli", "bz2", "bzip2", "compress", "dcb", "dcz", "deflate", "exi", "gz", "gzip",
        "lz4", "lzma", "pack200-gzip", "sdch", "snappy", "xz", "zlib", "zstd",
    ]

    /// Returns whether a response's content is compressed with gzip, which some origins use unrequested.
    package static func isGzip(_ head: OriginHead) -> Bool {
        let codings = members(of: "Content-Encoding", in: head)
        return codings.count == 1 && ["gzip", "x-gzip"].contains { codings[0].isEqualIgnoringCase($0) }
    }

    private static func isIdentity(_ head: OriginHead) -> Bool {
        members(of: "Content-Encoding", in: head).allSatisfy { member in
            let word = member.prefix { $0 != ";" }.filter { $0 != "\"" }.trimmingBlanks().lowercased()
            return !codings.contains(word.hasPrefix("x-") ? String(word.dropFirst(2)) : word)
        }
    }

    private static func acceptsByteRanges(_ head: OriginHead) -> Bool {
        members(of: "Accept-Ranges", in: head).contains { $0.isEqualIgnoringCase("bytes") }
    }

    private static func members(of name: String, in head: OriginHead) -> [Substring] {
        head.fields.values(name)
            .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            .map { $0.trimmingBlanks() }
    }

    /// Returns the response's single media type. Anything else, such as two fields, means bytes of unknown type.
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

/// The usable content of a response.
package enum ResponseContent: Hashable, Sendable {
    /// A range of the representation's bytes, perhaps fewer than requested, and its length if the origin states it.
    case partial(ByteRange, total: Int64?)
    /// The whole representation, from byte 0; for a HEAD request, the content that a GET would return.
    case whole(length: Int64?)
    /// No content, because the representation ends at or before the first requested byte.
    case unsatisfiable(total: Int64?)

    /// The representation's length, or nil if the response does not state it.
    package var length: Int64? {
        switch self {
        case .partial(_, let length), .whole(let length), .unsatisfiable(let length): length
        }
    }

    /// The offset one past the last byte that follows the head; nil if the head does not state it.
    package var end: Int64? {
        switch self {
        case .partial(let range, _): range.upperBound
        case .whole(let length): length
        case .unsatisfiable: nil
        }
    }
}

/// The value of `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The maximum accepted wait, in seconds: a week. An origin that needs longer can send the field again then.
    static let longest = 604_800

    /// Returns the number of seconds to wait, at most ``longest``; nil if the field is absent or not usable.
    ///
    /// A date is compared with the response's own `Date`, so that a wrong clock on either side does no harm.
    static func seconds(in fields: HeaderFields) -> Int? {
        guard let value = fields["Retry-After"] else { return nil }
        if let seconds = DecimalNumber.clamped(value) { return Int(min(seconds, Int64(longest))) }
        // Both times come from the origin, so an obsolete date's century does not depend on the local clock.
        guard let now = fields["Date"].flatMap({ HTTPDate($0, now: 0) }), let then = HTTPDate(value, now: now.seconds)
        else { return nil }
        return Int(min(max(0, then.seconds - now.seconds), Int64(longest)))
    }
}
