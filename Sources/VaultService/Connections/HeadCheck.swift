import NIOCore
import NIOHTTP1
import VaultModel

/// A request's head, after the checks that the HTTP library omits: the framing of its body, the host of its target, and
/// its connection options.
struct CheckedHead {
    /// The result of the checks.
    enum Verdict {
        /// The request gets this answer, and nothing may be read after it.
        case refused(Answer)
        case valid(CheckedHead)
    }

    /// The head in the form that the library recognises: with the path of its target, and with `Connection: close` if
    /// ``closes``.
    let head: HTTPRequestHead
    /// Whether the connection closes after the answer.
    let closes: Bool
    /// Whether the request is HTTP/1.0.
    let isOld: Bool
    let isChunked: Bool
    /// Whether the client waits for `100 Continue`.
    let awaitsContinue: Bool

    /// Checks a head.
    ///
    /// - Parameter isLaterVersion: whether the request was sent in a later version than HTTP/1.1.
    static func verdict(on head: HTTPRequestHead, isLaterVersion: Bool) -> Verdict {
        var checked = head
        let isChunked = head.headers.contains(name: "transfer-encoding")
        if isChunked, let answer = refusal(of: head.headers[canonicalForm: "transfer-encoding"]) {
            return .refused(answer)
        }
        let hosts = head.headers["host"]
        if let named = target(of: head.uri) {
            // The target's host takes precedence (RFC 9112 §3.2.2), and a client names the same host in both places.
            guard named.authority.isEqualIgnoringCase(hosts.first ?? "") else {
                return .refused(ErrorAnswer.misdirectedHost)
            }
            checked.uri = named.path
        }
        let isOld = head.version == .http1_0
        // Without exactly one host, the request may have been assembled from two, and so may the bytes after it (RFC
        // 9112 §3.2).
        let closes =
            isOld || isLaterVersion || hosts.count != 1 || hosts[0].isEmpty
            || head.headers[canonicalForm: "connection"].contains { $0.isEqualIgnoringCase("close") }
        // The only spelling that the library recognises.
        if closes { checked.headers.replaceOrAdd(name: "Connection", value: "close") }
        let awaitsContinue =
            !isOld && head.headers["expect"].contains { $0.isEqualIgnoringCase("100-continue") }
        return .valid(
            CheckedHead(
                head: checked, closes: closes, isOld: isOld, isChunked: isChunked, awaitsContinue: awaitsContinue))
    }

    /// Returns the answer to a body whose end cannot be determined; nil if its codings are valid.
    private static func refusal(of codings: [Substring]) -> Answer? {
        let codings = codings.filter { !$0.isEmpty }
        // If chunked is not the last coding, the end of the body cannot be determined (RFC 9112 §6.3).
        guard codings.last?.isEqualIgnoringCase("chunked") ?? false,
            codings.count(where: { $0.isEqualIgnoringCase("chunked") }) == 1
        else { return ErrorAnswer.malformedCoding }
        return codings.count == 1 ? nil : ErrorAnswer.unknownCoding
    }

    /// Returns the authority and the path of a target in absolute form; nil if it has another form.
    private static func target(of uri: String) -> (authority: Substring, path: String)? {
        guard uri.utf8.first != UInt8(ascii: "/"), let colon = uri.utf8.firstIndex(of: UInt8(ascii: ":")),
            uri[..<colon].utf8.allSatisfy(isSchemeByte), uri.utf8[colon...].starts(with: "://".utf8)
        else { return nil }
        let rest = Substring(uri.utf8[colon...].dropFirst(3))
        let end = rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        let path = String(rest[end...])
        return (rest[..<end], path.utf8.first == UInt8(ascii: "/") ? path : "/" + path)
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }
}

/// The first line of a request (RFC 9112 §3), with the parts that show why the parser rejects it.
struct RequestLine: Hashable, Sendable {
    let method: String
    let major: Int
    let minor: Int

    /// Parses a line without its terminator; nil if it does not have the form of a request line.
    init?(_ line: some Sequence<UInt8>) {
        let parts = Array(line).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[0].allSatisfy(HTTPToken.contains),
            parts[2].count == 8, parts[2].starts(with: "HTTP/".utf8), parts[2][parts[2].startIndex + 6] == 0x2E,
            let major = Self.digit(parts[2][parts[2].startIndex + 5]),
            let minor = Self.digit(parts[2][parts[2].startIndex + 7])
        else { return nil }
        method = String(decoding: parts[0], as: UTF8.self)
        self.major = major
        self.minor = minor
    }

    /// Whether its version must be read as HTTP/1.1 (RFC 9110 §2.5), but is unknown to the parser.
    var isLaterVersion: Bool { major == 1 && minor > 1 }

    /// The answer to a request with this line that the parser rejected; nil if the line is malformed.
    var refusal: Answer? {
        if major != 1 { return ErrorAnswer.unknownVersion }
        // A known method in lower or mixed case is a misspelling, not an unknown method.
        return Methods.areKnown(method.uppercased()) ? nil : ErrorAnswer.unknownMethod
    }

    private static func digit(_ byte: UInt8) -> Int? {
        byte >= 0x30 && byte <= 0x39 ? Int(byte - 0x30) : nil
    }
}

/// The methods that the service knows, whether or not a resource supports them.
///
/// These are the methods of RFC 9110 §9 and RFC 5789, and QUERY, the safe method with a body.
enum Methods {
    static func areKnown(_ method: String) -> Bool { known.contains(method) }

    private static let known: Set = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]
}

/// Reads the first lines of requests before the parser does.
///
/// If the connection's first line has a later version of HTTP/1, this handler changes it to HTTP/1.1, as which it must
/// be read. If the parser rejects a line, the answer can state the reason. The handler belongs to its channel's event
/// loop.
final class RequestLines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Whether no request is arriving, so that the next bytes begin one.
    var isBetweenRequests = true
    /// Whether the connection's first line had a later version; the parser would not accept another such line.
    private(set) var isLaterVersion = false
    /// The line that the parser is reading, if it began between two requests.
    ///
    /// It is parsed only on request, which happens when the parser rejects it.
    var current: RequestLine? { arriving.flatMap(Self.line).flatMap { RequestLine($0.bytes) } }

    /// The bytes that the parser is reading, if they began between two requests.
    private var arriving: ByteBuffer?
    /// The first line of the connection, until its end arrives.
    private var held: ByteBuffer?
    private var isFirst = true
    /// How many bytes have arrived since the service stopped reading; nil while it reads.
    private var dropped: Int?

    /// Maximum bytes that are read and dropped so that a client that is still sending can read its answer: as many as
    /// the bodies of most requests may have.
    static let maxDropped = 1 << 20

    /// Whether the rest of an answered request, which the service does not read, is still arriving.
    var isDropping: Bool {
        get { dropped != nil }
        set { if newValue != isDropping { dropped = newValue ? 0 : nil } }
    }

    /// Whether the connection's last answer is a refusal: what arrives is dropped, up to the bound.
    private(set) var isRefused = false

    /// Drops all that arrives from now on.
    func refuse(_ context: ChannelHandlerContext) {
        (isDropping, isRefused) = (true, true)
        context.read()
    }

    /// The longest line to wait for, in bytes; a longer one cannot belong to a request that the service answers.
    private static let maxBytes = 16 << 10

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if let count = dropped {
            dropped = count + bytes.readableBytes
            guard count + bytes.readableBytes <= Self.maxDropped else { return context.close(promise: nil) }
        }
        guard isFirst else { return pass(bytes, context) }
        let mayBeText = bytes.readableBytesView.allSatisfy(Self.isText)
        if var earlier = held.take() {
            earlier.writeBuffer(&bytes)
            bytes = earlier
        }
        guard let line = Self.line(of: bytes) else {
            guard mayBeText, bytes.readableBytes < Self.maxBytes else { return pass(bytes, context) }
            held = bytes
            return
        }
        if let first = RequestLine(line.bytes), first.isLaterVersion {
            isLaterVersion = true
            bytes.setInteger(UInt8(ascii: "1"), at: line.end - 1)
        }
        pass(bytes, context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // The handlers behind this one request no more bytes, because they get none.
        if isRefused { context.read() }
    }

    /// Passes an incomplete line to the parser, which refuses it, once the client has finished sending.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed, let bytes = held.take() { pass(bytes, context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let bytes = held.take() { pass(bytes, context) }
        context.fireChannelInactive()
    }

    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        isFirst = false
        arriving = isBetweenRequests ? bytes : nil
        context.fireChannelRead(wrapInboundOut(bytes))
        arriving = nil
    }

    /// Returns whether a byte can be part of a line or end it; if not, the handler does not wait for the rest.
    private static func isText(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == 0x0D || byte == 0x0A
    }

    /// Returns the first non-empty line, and its end in the buffer; nil if its end has not arrived.
    private static func line(of buffer: ByteBuffer) -> (bytes: ByteBufferView, end: Int)? {
        let view = buffer.readableBytesView
        let start = view.firstIndex { $0 != 0x0D && $0 != 0x0A } ?? view.endIndex
        guard let feed = view[start...].firstIndex(of: 0x0A) else { return nil }
        let end = feed > start && view[feed - 1] == 0x0D ? feed - 1 : feed
        return (view[start..<end], end)
    }
}

@available(*, unavailable)
extension RequestLines: Sendable {}
