import NIOCore
import NIOHTTPTypes

/// Tells ``OpenConnections`` what one connection is doing. Belongs to its channel's event loop.
final class ConnectionObserver: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let connections: OpenConnections
    private var connection: ClientConnection?
    private var isReceiving = false
    private var unanswered = 0

    init(_ connections: OpenConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) { connection = connections.add(context.channel) }

    func handlerRemoved(context: ChannelHandlerContext) {
        if let connection { connections.remove(connection) }
        connection = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            unanswered += 1
            isReceiving = true
            connection?.note(.receiving)
        // A body that trickles in does not count as getting on.
        case .body: break
        case .end:
            isReceiving = false
            connection?.note(unanswered > 0 ? .answering : .idle)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { unanswered -= 1 }
        if !isReceiving { connection?.note(unanswered > 0 ? .answering : .idle) }
        context.write(data, promise: promise)
    }
}

@available(*, unavailable)
extension ConnectionObserver: Sendable {}
