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

/// How long a connection may do what it does.
package struct ConnectionLimits: Hashable, Sendable {
    /// What a connection is doing.
    enum Phase: UInt8, Hashable, Sendable {
        /// No request has come yet, or not all of its head.
        case new
        /// The body of a request is on its way.
        case receiving
        /// A request is being answered.
        case answering
        /// All requests are answered.
        case idle
    }

    /// How long the head of the first request may take, TLS included.
    package var firstHead: Duration = .seconds(20)
    /// How long the body of a request may take.
    package var body: Duration = .seconds(30)
    /// How long a connection is kept on which nothing is asked.
    package var idle: Duration = .seconds(60)
    /// What has stood still so long yields where no more connections can be had.
    package var yielding: Duration = .seconds(1)

    /// Whether a connection has to go, however many there are.
    func isOver(_ phase: Phase, for time: Duration) -> Bool {
        switch phase {
        case .new: time >= min(firstHead, idle)
        case .receiving: time >= body
        case .idle: time >= idle
        case .answering: false
        }
    }

    /// Which connections go so that others may come: those between requests before those within, then those that have
    /// stood still longest.
    ///
    /// - Parameters:
    ///   - connections: each by what it is doing, and how long it has stood still.
    ///   - count: how many at most.
    ///   - within: how many of them at most within a request: they lose more than a connection.
    /// - Returns: their indices, none where all are at work.
    func yielding(
        among connections: [(phase: Phase, still: Duration)], most count: Int, within: Int
    ) -> [Int] {
        let stale = connections.indices.filter { connections[$0].still >= yielding }
        let ranked = stale.sorted { one, other in
            let (one, other) = (connections[one], connections[other])
            return one.phase.isWithinRequest == other.phase.isWithinRequest
                ? one.still > other.still : other.phase.isWithinRequest
        }
        let between = ranked.count { !connections[$0].phase.isWithinRequest }
        return Array(ranked.prefix(min(count, max(between, within))))
    }
}

extension ConnectionLimits.Phase {
    fileprivate var isWithinRequest: Bool { self == .receiving || self == .answering }
}
