import NIOCore
import NIOHTTP1
import VaultModel

/// Handles those connection options that the HTTP library does not (RFC 9110 §10.1.1, RFC 9112 §9).
///
/// `Connection: close` applies in any spelling, and HTTP/1.0 implies it. A request that does not name exactly one host
/// is the last on its connection. In all these cases, the answer also carries `Connection: close`, and an answer of
/// unknown length to HTTP/1.0 ends with the connection instead of using chunks. A client that waits for `100 Continue`
/// gets it. An ambiguous request is refused after earlier requests have been answered, and is the last on its
/// connection. After an answer, the rest of its request is read up to a limit, beyond which the connection is closed.
/// The handler belongs to its channel's event loop.
final class ConnectionOptions: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let lines: RequestLines
    /// For each unanswered request, oldest first, whether the connection closes after its answer, and whether it is
    /// HTTP/1.0.
    private var closing: [(closes: Bool, isOld: Bool)] = []
    /// A request whose chunks have not yet arrived. It is held because its answer depends on whether the chunks are
    /// valid.
    private var held: CheckedHead?
    /// The connection's last answer, if this handler sends it. No request after it is processed.
    private var refusal: (answer: Answer, isHead: Bool)?
    /// Whether a request was cut off within its body, so that no other request can follow.
    private var isBroken = false
    /// Whether the answer that is being written belongs to no request.
    private var isUnsolicited = false

    init(_ lines: RequestLines) { self.lines = lines }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard refusal == nil else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            lines.isBetweenRequests = false
            switch CheckedHead.verdict(on: head, isLaterVersion: lines.isLaterVersion) {
            case .refused(let answer): refuse(answer, isHead: head.method == .HEAD, context)
            case .valid(let request):
                // While an earlier request is unanswered, the client would take `100 Continue` to be part of its
                // answer.
                if request.awaitsContinue, closing.isEmpty { sendContinue(context) }
                if request.isChunked { held = request } else { pass(request, context) }
            }
        case .body:
            if let request = held.take() { pass(request, context) }
            context.fireChannelRead(data)
        case .end:
            if let request = held.take() { pass(request, context) }
            lines.isBetweenRequests = true
            lines.isDropping = false
            context.fireChannelRead(data)
        }
    }

    private func sendContinue(_ context: ChannelHandlerContext) {
        let go = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(go)), promise: nil)
    }

    private func pass(_ request: CheckedHead, _ context: ChannelHandlerContext) {
        closing.append((request.closes, request.isOld))
        context.fireChannelRead(wrapInboundOut(.head(request.head)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard refusal == nil else { return }
        guard error is HTTPParserError else { return context.fireErrorCaught(error) }
        if let request = held.take() {
            refuse(ErrorAnswer.malformedChunks, isHead: request.head.method == .HEAD, context)
        } else if lines.isBetweenRequests {
            // The HTTP library would answer this, too, but would not read what the client continues to send.
            let answer = error.isRequestLineError ? lines.current?.refusal : nil
            refuse(answer ?? ErrorAnswer.malformedHead, isHead: false, context)
        } else {
            isBroken = true
            context.fireErrorCaught(error)
        }
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            // The HTTP library answers a truncated body even if the request has already been answered. That answer is
            // dropped.
            isUnsolicited = closing.isEmpty && isBroken
            guard !isUnsolicited else { return skip(promise) }
            if isBroken || closing.first?.closes ?? false {
                head.headers.replaceOrAdd(name: "Connection", value: "close")
                // HTTP/1.0 has no chunks.
                if closing.first?.isOld ?? false, !head.headers.contains(name: "content-length") {
                    head.version = .http1_0
                }
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            guard !isUnsolicited else { return skip(promise) }
            context.write(data, promise: promise)
        case .end:
            guard !isUnsolicited else { return skip(promise) }
            if !closing.isEmpty { closing.removeFirst() }
            context.write(data, promise: promise)
            // A request that is held until its body begins is not in `closing`, but is still unanswered.
            if closing.isEmpty, held == nil, !lines.isBetweenRequests { lines.isDropping = true }
            if closing.isEmpty, let refusal { write(refusal.answer, isHead: refusal.isHead, context) }
        }
    }

    private func skip(_ promise: EventLoopPromise<Void>?) { promise?.succeed(()) }

    private func refuse(_ answer: Answer, isHead: Bool, _ context: ChannelHandlerContext) {
        refusal = (answer, isHead)
        if closing.isEmpty { write(answer, isHead: isHead, context) }
    }

    /// Writes the last answer, and closes the sending side.
    ///
    /// Any bytes that the client still sends are read and dropped, so that the client can read the answer.
    private func write(_ answer: Answer, isHead: Bool, _ context: ChannelHandlerContext) {
        var fields = HTTPHeaders(answer.fields.fields.map { ($0.name, $0.value) })
        fields.add(name: "Content-Length", value: String(answer.body.count))
        fields.add(name: "Connection", value: "close")
        if let date = HTTPDate(seconds: WallClock.now()) {
            fields.add(name: "Date", value: date.description)
        }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !isHead {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(mode: .output, promise: nil)
        lines.refuse(context)
    }
}

extension Error {
    /// Whether the parser rejected the first line of a request.
    fileprivate var isRequestLineError: Bool {
        switch self as? HTTPParserError {
        case .invalidMethod, .invalidVersion: true
        default: false
        }
    }
}

@available(*, unavailable)
extension ConnectionOptions: Sendable {}

/// Installs ``RequestLines`` before the parser and ``ConnectionOptions`` after the parser, and then removes itself.
///
/// ``ConnectionOptions`` must come right after the parser, because only there do requests still state their version.
final class ConnectionOptionsInstaller: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    func handlerAdded(context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let lines = RequestLines()
            try pipeline.addHandler(lines, position: .before(decoder))
            try pipeline.addHandler(ConnectionOptions(lines), position: .after(decoder))
        } catch {
            context.fireErrorCaught(error)
        }
        pipeline.removeHandler(context: context, promise: nil)
    }
}

@available(*, unavailable)
extension ConnectionOptionsInstaller: Sendable {}
