import NIOCore
import NIOHTTPTypes

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Reports a connection's phase to ``OpenConnections``.
///
/// The handler belongs to its channel's event loop.
final class ConnectionObserver: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let connections: OpenConnections
    private var connection: ClientConnection?
    private var isReceiving = false
    private var unanswered = 0

    /// The maximum number of an answer's unsent bytes that the system may buffer.
    ///
    /// By default, the system would buffer megabytes for a stalled client, all of which the vault would have to open.
    private static let unsent = 256 << 10

    /// The water marks of a connection's write buffer. Above the high mark, the connection counts as not keeping up,
    /// until the buffer has shrunk below the low mark.
    ///
    /// A short answer, including its head, fits within the high mark. It therefore does not make the pipeline
    /// unwritable and then writable again.
    private static let pending = ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 96 << 10)

    init(_ connections: OpenConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = connections.add(context.channel)
        context.channel.setOption(ChannelOptions.writeBufferWaterMark, value: Self.pending).whenFailure { _ in }
        // This is an optimization, so a failure does no harm. A socket file has no such option.
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
        // Arriving parts of a body do not count as progress, so that a client cannot stall by sending its body slowly.
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

/// The time limits of connections.
package struct ConnectionLimits: Hashable, Sendable {
    /// What a connection is currently doing.
    enum Phase: UInt8, Hashable, Sendable {
        /// The head of the first request has not yet arrived completely.
        case new
        /// A request's body is arriving.
        case receiving
        /// A request is being answered.
        case answering
        /// All requests have been answered.
        case idle
    }

    /// How long the head of the first request may take to arrive, including the TLS handshake.
    package var firstHead: Duration = .seconds(20)
    /// How long a request's body may take to arrive.
    package var body: Duration = .seconds(30)
    /// How long a connection is kept without a request.
    package var idle: Duration = .seconds(60)
    /// How long a connection must have been stalled before it is closed to make room when the listener is full.
    package var yielding: Duration = .seconds(1)

    /// Returns whether a connection must be closed regardless of the number of connections.
    func isOver(_ phase: Phase, for time: Duration) -> Bool {
        switch phase {
        case .new: time >= min(firstHead, idle)
        case .receiving: time >= body
        case .idle: time >= idle
        case .answering: false
        }
    }

    /// Returns the connections to close to make room for others.
    ///
    /// Connections that are between requests are closed before those that are within a request. Otherwise, those that
    /// have been stalled longest are closed first.
    ///
    /// - Parameters:
    ///   - connections: each connection's phase, and how long it has been stalled.
    ///   - count: the maximum number of connections to close.
    ///   - within: the maximum number to close if this includes connections that are within a request. Their clients
    ///     lose more than a connection.
    /// - Returns: the indices of the connections to close; empty if no connection is stalled.
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
