import NIOCore
import NIOHTTP1
import VaultModel

/// A request's head after checks that the HTTP library omits. They concern the framing of the body, the host in the
/// target, and the connection options.
struct CheckedHead {
    /// The result of the checks.
    enum Verdict {
        /// The request gets this answer, and nothing may be read after it.
        case refused(Answer)
        case valid(CheckedHead)
    }

    /// The head in the form that the HTTP library recognizes, with only a path as its target, and with
    /// `Connection: close` if ``closes`` is true.
    let head: HTTPRequestHead
    /// Whether the connection closes after the answer.
    let closes: Bool
    /// Whether the request is HTTP/1.0.
    let isOld: Bool
    let isChunked: Bool
    /// Whether the client waits for `100 Continue`.
    let awaitsContinue: Bool

    /// Checks a request's head.
    ///
    /// - Parameter isLaterVersion: whether the request states a later version than HTTP/1.1.
    static func verdict(on head: HTTPRequestHead, isLaterVersion: Bool) -> Verdict {
        var checked = head
        let isChunked = head.headers.contains(name: "transfer-encoding")
        if isChunked, let answer = refusal(of: head.headers[canonicalForm: "transfer-encoding"]) {
            return .refused(answer)
        }
        let hosts = head.headers["host"]
        if let named = target(of: head.uri) {
            // The target's host takes precedence (RFC 9112 §3.2.2), but a proper client names the same host in both
            // places.
            guard named.authority.isEqualIgnoringCase(hosts.first ?? "") else {
                return .refused(ErrorAnswer.misdirectedHost)
            }
            checked.uri = named.path
        }
        let isOld = head.version == .http1_0
        // A request without exactly one host may have been assembled from two requests, and so may the bytes after it
        // (RFC 9112 §3.2).
        let closes =
            isOld || isLaterVersion || hosts.count != 1 || hosts[0].isEmpty
            || head.headers[canonicalForm: "connection"].contains { $0.isEqualIgnoringCase("close") }
        // This is the only spelling that the HTTP library recognizes.
        if closes { checked.headers.replaceOrAdd(name: "Connection", value: "close") }
        let awaitsContinue =
            !isOld && head.headers["expect"].contains { $0.isEqualIgnoringCase("100-continue") }
        return .valid(
            CheckedHead(
                head: checked, closes: closes, isOld: isOld, isChunked: isChunked, awaitsContinue: awaitsContinue))
    }

    /// Returns the refusal of a body whose codings are malformed or unknown; nil if they are valid.
    private static func refusal(of codings: [Substring]) -> Answer? {
        let codings = codings.filter { !$0.isEmpty }
        // If chunked is not the last coding, the end of the body cannot be determined (RFC 9112 §6.3).
        guard codings.last?.isEqualIgnoringCase("chunked") ?? false,
            codings.count(where: { $0.isEqualIgnoringCase("chunked") }) == 1
        else { return ErrorAnswer.malformedCoding }
        return codings.count == 1 ? nil : ErrorAnswer.unknownCoding
    }

    /// Returns the authority and path of a target in absolute form; nil if the target has another form.
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

/// The first line of a request (RFC 9112 §3), reduced to the parts that show why the parser rejects it.
struct RequestLine: Hashable, Sendable {
    let method: String
    let major: Int
    let minor: Int

    /// Parses a line without its terminator; returns nil if the line does not have the form of a request line.
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

    /// Whether the line's version must be read as HTTP/1.1 (RFC 9110 §2.5), but is unknown to the parser.
    var isLaterVersion: Bool { major == 1 && minor > 1 }

    /// The answer to a request whose line the parser rejected; nil if the line is malformed.
    var refusal: Answer? {
        if major != 1 { return ErrorAnswer.unknownVersion }
        // A known method in lower or mixed case is a misspelling, not an unknown method.
        return Methods.areKnown(method.uppercased()) ? nil : ErrorAnswer.unknownMethod
    }

    private static func digit(_ byte: UInt8) -> Int? {
        byte >= 0x30 && byte <= 0x39 ? Int(byte - 0x30) : nil
    }
}

/// The methods that the service knows, whether or not any resource supports them.
///
/// These are the methods of RFC 9110 §9 and RFC 5789, and QUERY, which is a safe method with a body.
enum Methods {
    static func areKnown(_ method: String) -> Bool { known.contains(method) }

    private static let known: Set = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]
}

/// Reads the first line of each request before the parser does.
///
/// If the connection's first line states a later version of HTTP/1, this handler changes the version to HTTP/1.1, as
/// which the line must be read. If the parser rejects a line, the handler's copy of the line lets the answer state the
/// reason. The handler belongs to its channel's event loop.
final class RequestLines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Whether no request is arriving, so that the next bytes begin a request.
    var isBetweenRequests = true
    /// Whether the connection's first line stated a later version. Only the first line is changed, so the parser would
    /// reject another such line.
    private(set) var isLaterVersion = false
    /// The first line in the bytes that the parser is reading, if they began between two requests.
    ///
    /// The line is parsed only when this property is read, which happens when the parser rejects the line.
    var current: RequestLine? { arriving.flatMap(Self.line).flatMap { RequestLine($0.bytes) } }

    /// The bytes that the parser is reading, if they began between two requests.
    private var arriving: ByteBuffer?
    /// The incomplete first line of the connection, held until its end arrives.
    private var held: ByteBuffer?
    private var isFirst = true
    /// The number of bytes that have arrived since the service began to drop them; nil while it processes them.
    private var dropped: Int?

    /// The maximum number of bytes that are read and dropped so that a client that is still sending can read its
    /// answer. It equals the maximum body length of most requests.
    static let maxDropped = 1 << 20

    /// Whether the rest of a request that has already been answered is still arriving, and is being dropped.
    var isDropping: Bool {
        get { dropped != nil }
        set { if newValue != isDropping { dropped = newValue ? 0 : nil } }
    }

    /// Whether the connection's last answer is a refusal. Bytes that arrive after it are dropped, up to ``maxDropped``.
    private(set) var isRefused = false

    /// Begins to drop all bytes that arrive.
    func refuse(_ context: ChannelHandlerContext) {
        (isDropping, isRefused) = (true, true)
        context.read()
    }

    /// The length, in bytes, up to which an incomplete line is held. A longer line cannot belong to a request that the
    /// service answers.
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
        // The later handlers request no more bytes after a refusal, so this handler must.
        if isRefused { context.read() }
    }

    /// Once the client has finished sending, passes an incomplete line to the parser, which rejects it.
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

    /// Returns whether a byte can be part of a line or end one. If not, the handler does not wait for the rest of the
    /// line.
    private static func isText(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == 0x0D || byte == 0x0A
    }

    /// Returns the buffer's first non-empty line, and the position of its end; nil if the end has not yet arrived.
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
