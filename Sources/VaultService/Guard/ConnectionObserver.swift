import NIOCore
import NIOHTTPTypes

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

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

    /// The bytes that the system keeps of an answer while they cannot be sent: unasked it takes megabytes for a client
    /// that stands still, and the work of opening them.
    private static let unsent = 256 << 10

    /// The bytes within which a connection counts as one that keeps up: room for a short answer and its head, so that the
    /// pipeline is not told of each that it is full and then not.
    private static let pending = ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 96 << 10)

    init(_ connections: OpenConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = connections.add(context.channel)
        context.channel.setOption(ChannelOptions.writeBufferWaterMark, value: Self.pending).whenFailure { _ in }
        // A courtesy: a socket file knows no such option, and where it fails nothing is wrong.
        guard context.channel.localAddress?.port != nil else { return }
        let option = ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: TCP_NOTSENT_LOWAT))
        context.channel.setOption(option, value: Self.unsent).whenFailure { _ in }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        if let connection { connections.remove(connection) }
        connection = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        if let connection, !connections.mayStay(connection, at: .now()) {
            context.close(promise: nil)
        } else {
            context.fireChannelActive()
        }
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
