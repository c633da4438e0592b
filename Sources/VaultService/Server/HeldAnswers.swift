import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Gives the answers of a ``HeldResponder`` on the connection's event loop: the request goes no further, and no task is
/// woken for it. Belongs to its channel's event loop.
///
/// Order is kept: while another request of the connection is being answered, or the client does not take what was
/// written, the next goes the long way.
final class HeldAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let responder: HeldResponder
    private var memory = HeldResponder.Memory()
    /// A request whose end has not come.
    private var head: HTTPRequest?
    /// How many requests were handed on that are not answered.
    private var handedOn = 0
    /// How many answers given here the system has not taken whole.
    private var unsent = 0
    /// Told while one was on its way: the connection shall end after it.
    private var mustEnd = false

    init(_ responder: HeldResponder) { self.responder = responder }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let request):
            // What is answered before all of it has come is handed on at once.
            guard handedOn == 0, context.channel.isWritable, request.method == .get, !request.hasBody,
                request.headerFields[.connection] != "close"
            else { return handOn(data, context) }
            head = request
        case .body: context.fireChannelRead(data)
        case .end:
            guard let request = head else { return context.fireChannelRead(data) }
            if let answer = responder.answer(to: request, on: context.channel, &memory) {
                head = nil
                give(answer, context)
            } else {
                handOn(wrapInboundOut(.head(request)), context)
                context.fireChannelRead(data)
            }
        }
    }

    private func handOn(_ request: NIOAny, _ context: ChannelHandlerContext) {
        head = nil
        handedOn += 1
        context.fireChannelRead(request)
    }

    private func give(_ answer: HeldAnswer, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(answer.head)), promise: nil)
        context.write(wrapOutboundOut(.body(answer.body)), promise: nil)
        unsent += 1
        let sent = context.eventLoop.makePromise(of: Void.self)
        let ends = NIOLoopBound(context, eventLoop: context.eventLoop)
        let me = NIOLoopBound(self, eventLoop: context.eventLoop)
        sent.futureResult.whenComplete { _ in me.value.noteSent(ends.value) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    private func noteSent(_ context: ChannelHandlerContext) {
        unsent -= 1
        guard mustEnd, unsent == 0 else { return }
        mustEnd = false
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // An informational head has no end.
        if case .end = unwrapOutboundIn(data) { handedOn -= 1 }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Whoever closes a quiet connection does not know what is on its way.
        if event is ChannelShouldQuiesceEvent, unsent > 0 {
            mustEnd = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

@available(*, unavailable)
extension HeldAnswers: Sendable {}
