import NIOCore
import NIOHTTPTypes

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Reports to ``OpenConnections`` what one connection is doing.
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

    /// The unsent bytes of an answer that the system may buffer.
    ///
    /// By default, it buffers megabytes for a stalled client, all of which the vault must open first.
    private static let unsent = 256 << 10

    /// The buffered bytes up to which a connection counts as keeping up.
    ///
    /// A short answer fits together with its head, so that it does not make the pipeline unwritable and then writable
    /// again.
    private static let pending = ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 96 << 10)

    init(_ connections: OpenConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = connections.add(context.channel)
        context.channel.setOption(ChannelOptions.writeBufferWaterMark, value: Self.pending).whenFailure { _ in }
        // An optimisation: a socket file has no such option, and a failure does no harm.
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
        // A body that trickles in does not count as progress.
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
    /// What a connection is doing.
    enum Phase: UInt8, Hashable, Sendable {
        /// No request has arrived yet, or not all of its head.
        case new
        /// The body of a request is arriving.
        case receiving
        /// A request is being answered.
        case answering
        /// All requests are answered.
        case idle
    }

    /// How long the head of the first request may take, including TLS.
    package var firstHead: Duration = .seconds(20)
    /// How long the body of a request may take.
    package var body: Duration = .seconds(30)
    /// How long a connection without requests is kept.
    package var idle: Duration = .seconds(60)
    /// How long a connection must have been stalled to yield when no more connections are available.
    package var yielding: Duration = .seconds(1)

    /// Returns whether a connection must be closed, however many there are.
    func isOver(_ phase: Phase, for time: Duration) -> Bool {
        switch phase {
        case .new: time >= min(firstHead, idle)
        case .receiving: time >= body
        case .idle: time >= idle
        case .answering: false
        }
    }

    /// Returns the connections to close so that others can be accepted.
    ///
    /// Connections between requests come before connections within one; otherwise, the longest stalled comes first.
    ///
    /// - Parameters:
    ///   - connections: the phase of each, and how long it has been stalled.
    ///   - count: the maximum number of connections to close.
    ///   - within: the maximum number of them within a request, which lose more than a connection.
    /// - Returns: their indices; empty if no connection is stalled.
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
