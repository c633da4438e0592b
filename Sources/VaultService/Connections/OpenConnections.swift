import CoreMetrics
import HummingbirdCore
import NIOCore
import ServiceLifecycle
import Synchronization
import VaultModel

/// The connections of one listener: limits their number, and closes stalled ones.
///
/// No client is turned away while another's connection is stalled: the connections that have been stalled longest are
/// closed. A peer on another machine has its share of the connections, within which the same applies.
final class OpenConnections: Service {
    fileprivate struct State {
        var accepted = 0
        var open: [ObjectIdentifier: ClientConnection] = [:]
        var shares: PeerShares
        /// The peak number of open connections since a crowd last left.
        var peak = 0
    }

    private let most: Int
    private let limits: ConnectionLimits
    private let afterPeak: @Sendable () -> Void
    private let meter: Meter?
    private let state: Locked<State>

    /// The number of connections that count as a crowd.
    private static let crowd = 32

    /// - Parameters:
    ///   - most: the maximum number of connections.
    ///   - meter: counts the open connections.
    ///   - afterPeak: called when most of a crowd has left.
    init(
        most: Int, limits: ConnectionLimits, countedBy meter: Meter? = nil,
        afterPeak: @escaping @Sendable () -> Void = {}
    ) {
        self.most = most
        self.meter = meter
        self.limits = limits
        self.afterPeak = afterPeak
        state = Locked(State(shares: PeerShares(of: most)))
    }

    // MARK: For the connections

    func add(_ channel: any Channel) -> ClientConnection {
        let connection = ClientConnection(channel)
        meter?.increment()
        state.withLock { state in
            state.open[ObjectIdentifier(connection)] = connection
            if let peer = connection.peer { state.shares.take(peer) }
        }
        return connection
    }

    /// Returns whether an added connection may stay.
    ///
    /// If its peer has more than its share, this closes a stalled connection of that peer; if none is stalled, the
    /// added connection may not stay.
    func mayStay(_ connection: ClientConnection, at now: NIODeadline) -> Bool {
        guard let peer = connection.peer else { return true }
        let (isOver, yields) = state.withLock { state -> (Bool, ClientConnection?) in
            guard state.shares.isOver(peer) else { return (false, nil) }
            let others = state.open.values.filter { $0.peer == peer && $0 !== connection }
            let standing = others.map { $0.standing(at: now) }
            let yields = limits.yielding(among: standing, most: 1, within: 1).first.map { others[$0] }
            // Forgotten at once, so that it does not yield twice.
            if let yields { state.forget(yields) }
            return (true, yields)
        }
        yields?.channel.close(promise: nil)
        return !isOver || yields != nil
    }

    func remove(_ connection: ClientConnection) {
        meter?.decrement()
        state.withLock { $0.forget(connection) }
    }

    // MARK: For the listener

    /// Returns an HTTP server whose connections this object manages.
    ///
    /// - Parameters:
    ///   - makeHandler: makes a connection's handler for cache hits; nil to pass on all requests.
    ///   - identity: the TLS certificate and key; nil for plain HTTP.
    func server(
        answering makeHandler: (@Sendable () -> any RemovableChannelHandler)?, _ identity: TLSIdentity? = nil
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { [self] responder in
            let plain = EventLoopChannel(
                base: HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        additionalChannelHandlers: [ConnectionObserver(self)]
                            + (makeHandler.map { [$0()] } ?? []) + [ConnectionOptionsInstaller()])))
            guard let identity else { return plain }
            return SecureChannel(base: plain, identity: identity)
        }
    }

    private var isFull: Bool { state.withLock { $0.accepted >= most } }

    /// Returns whether another connection may be accepted; if not, closes some stalled ones.
    func mayAccept() -> Bool {
        guard isFull else { return true }
        closeStalled(at: .now())
        return false
    }

    func accepted() { state.withLock { $0.accepted += 1 } }

    func closed() { state.withLock { $0.accepted -= 1 } }

    // MARK: Closing

    /// Checks the connections every second, or more often while the listener is full, until the service ends.
    func run() async throws {
        try? await cancelWhenGracefulShutdown { [self] in
            while true {
                try await Task.sleep(for: isFull ? min(.seconds(1), limits.yielding / 4) : .seconds(1))
                sweep(at: .now())
            }
        }
    }

    func sweep(at now: NIODeadline) {
        for connection in state.withLock({ Array($0.open.values) }) {
            let (phase, still) = connection.standing(at: now)
            if limits.isOver(phase, for: still) { connection.channel.close(promise: nil) }
        }
        if isFull { closeStalled(at: now) }
        if hasCrowdLeft() { afterPeak() }
    }

    private func hasCrowdLeft() -> Bool {
        state.withLock { state in
            state.peak = max(state.peak, state.open.count)
            guard state.peak >= Self.crowd, state.open.count <= state.peak / 4 else { return false }
            state.peak = state.open.count
            return true
        }
    }

    private func closeStalled(at now: NIODeadline) {
        let open = state.withLock { Array($0.open.values) }
        let share = most / 64
        let standing = open.map { $0.standing(at: now) }
        // With a low limit, a crowd that requests nothing is closed four at a time, because other clients wait for it.
        for index in limits.yielding(among: standing, most: max(4, share), within: max(1, share)) {
            open[index].channel.close(promise: nil)
        }
    }
}

extension OpenConnections.State {
    fileprivate mutating func forget(_ connection: ClientConnection) {
        guard open.removeValue(forKey: ObjectIdentifier(connection)) != nil, let peer = connection.peer else { return }
        shares.giveBack(peer)
    }
}

extension OpenConnections {
    /// The delegate that a listener consults before it accepts a connection.
    struct Admission: AvailableConnectionsDelegate {
        let connections: OpenConnections

        func connectionOpened() { connections.accepted() }

        func connectionClosed() { connections.closed() }

        func isAcceptingNewConnections() -> Bool { connections.mayAccept() }
    }
}

/// One client's connection: its phase, and the time of its last progress.
///
/// Its event loop writes these facts, and the code that chooses connections to close reads them.
final class ClientConnection: Sendable {
    let channel: any Channel
    /// The peer; nil for a client on this machine.
    let peer: PeerAddress?
    private let phase = Atomic(ConnectionLimits.Phase.new.rawValue)
    /// The time of its last progress, in nanoseconds of the monotonic clock.
    private let moved = Atomic(NIODeadline.now().uptimeNanoseconds)

    init(_ channel: any Channel) {
        self.channel = channel
        peer = PeerAddress(channel.remoteAddress)
    }

    /// Records progress.
    func note(_ phase: ConnectionLimits.Phase) {
        self.phase.store(phase.rawValue, ordering: .relaxed)
        moved.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed)
    }

    /// Returns the connection's phase, and how long it has been stalled.
    func standing(at now: NIODeadline) -> (phase: ConnectionLimits.Phase, still: Duration) {
        let still = Int64(clamping: now.uptimeNanoseconds) - Int64(clamping: moved.load(ordering: .relaxed))
        return (ConnectionLimits.Phase(rawValue: phase.load(ordering: .relaxed)) ?? .idle, .nanoseconds(max(0, still)))
    }
}

/// Counts each peer's connections to a listener, so that no peer takes them all.
struct PeerShares {
    /// Maximum connections of one peer.
    let most: Int
    private var taken: [PeerAddress: Int] = [:]

    /// - Parameter connections: the maximum number of connections of all peers.
    init(of connections: Int) { most = max(1, connections / 4) }

    /// Returns whether a peer has more than its share.
    func isOver(_ peer: PeerAddress) -> Bool { taken[peer, default: 0] > most }

    /// Adds a connection of a peer.
    mutating func take(_ peer: PeerAddress) { taken[peer, default: 0] += 1 }

    /// Removes a connection of a peer.
    mutating func giveBack(_ peer: PeerAddress) {
        let left = taken[peer, default: 0] - 1
        taken[peer] = left > 0 ? left : nil
    }
}

/// The identity of a client for its share of the connections: its IPv4 address, or its 64-bit IPv6 network.
///
/// A machine may take any number of addresses in such a network.
struct PeerAddress: Hashable, Sendable {
    /// The bytes of an IPv4 address, or the network part of an IPv6 address: a client has all addresses of its network.
    let bytes: [UInt8]

    /// - Parameter bytes: the 4 or 16 bytes of an IP address.
    /// - Returns: nil for this machine, where all clients have the same address.
    init?(_ bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mapped)
        let plain = isMapped ? Array(bytes[12...]) : bytes
        guard plain.count == 4 ? plain[0] != 127 : plain != Self.loopback else { return nil }
        self.bytes = plain.count == 4 ? plain : Array(plain.prefix(8))
    }

    /// - Parameter address: the remote address of a connection; nil if it is no longer known.
    /// - Returns: nil for this machine, including clients on a socket file.
    init?(_ address: SocketAddress?) {
        // The position of the address in the system's structure, whose fields cannot be imported on every platform.
        let place: Range<Int>
        switch address {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        default: return nil
        }
        let bytes = unsafe address?.withSockAddr { pointer, size in
            // The size is the structure's; the copied range is within it for either kind.
            unsafe Array(UnsafeRawBufferPointer(start: pointer, count: size)[place])
        }
        guard let bytes else { return nil }
        self.init(bytes)
    }

    private static let loopback = [UInt8](repeating: 0, count: 15) + [1]
    /// The prefix of an IPv4 address on a listener for both IP versions.
    private static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
}
