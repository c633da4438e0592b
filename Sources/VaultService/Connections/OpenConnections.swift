import CoreMetrics
import HummingbirdCore
import NIOCore
import ServiceLifecycle
import Synchronization
import VaultModel

/// Manages a listener's connections. It limits their number, and closes stalled ones.
///
/// No client is turned away while another client's connection is stalled, because the connections that have been
/// stalled longest are closed to make room. A peer on another machine has a share of the connections, within which the
/// same rule applies.
final class OpenConnections: Service {
    fileprivate struct State {
        var accepted = 0
        var open: [ObjectIdentifier: ClientConnection] = [:]
        var shares: PeerShares
        /// The highest number of open connections since the last crowd ended.
        var peak = 0
    }

    private let most: Int
    private let limits: ConnectionLimits
    private let afterPeak: @Sendable () -> Void
    private let meter: Meter?
    private let state: Locked<State>

    /// The least number of connections that counts as a crowd.
    private static let crowd = 32

    /// - Parameters:
    ///   - most: the maximum number of connections.
    ///   - meter: the meter that counts the open connections.
    ///   - afterPeak: called when most connections of a crowd have ended.
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
    /// If the connection's peer has more than its share, a stalled connection of that peer is closed instead. If none
    /// is stalled, the added connection may not stay.
    func mayStay(_ connection: ClientConnection, at now: NIODeadline) -> Bool {
        guard let peer = connection.peer else { return true }
        let (isOver, yields) = state.withLock { state -> (Bool, ClientConnection?) in
            guard state.shares.isOver(peer) else { return (false, nil) }
            let others = state.open.values.filter { $0.peer == peer && $0 !== connection }
            let standing = others.map { $0.standing(at: now) }
            let yields = limits.yielding(among: standing, most: 1, within: 1).first.map { others[$0] }
            // The connection is forgotten at once, so that it is not chosen twice.
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
    ///   - makeHandler: creates a connection's handler for cache hits; nil if all requests go to the responder.
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

    /// Returns whether another connection may be accepted; if not, closes some stalled connections.
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
        // Even if the limit is low, up to four connections without a request are closed at a time, because other
        // clients wait.
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

/// A client's connection, with its phase and the time of its last progress.
///
/// The connection's event loop records these facts, and the code that chooses connections to close reads them.
final class ClientConnection: Sendable {
    let channel: any Channel
    /// The peer; nil for a client on this machine.
    let peer: PeerAddress?
    private let phase = Atomic(ConnectionLimits.Phase.new.rawValue)
    /// The time of the connection's last progress, in nanoseconds of the monotonic clock.
    private let moved = Atomic(NIODeadline.now().uptimeNanoseconds)

    init(_ channel: any Channel) {
        self.channel = channel
        peer = PeerAddress(channel.remoteAddress)
    }

    /// Records progress, and the phase that the connection is now in.
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

/// Counts each peer's connections to a listener, so that no peer can use up all connections.
struct PeerShares {
    /// The maximum number of connections per peer.
    let most: Int
    private var taken: [PeerAddress: Int] = [:]

    /// - Parameter connections: the maximum number of connections for all peers together.
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

/// The identity by which a client's share of the connections is counted, which is its IPv4 address or its 64-bit IPv6
/// network.
///
/// An IPv6 network counts as one client, because a machine may use any number of addresses in it.
struct PeerAddress: Hashable, Sendable {
    /// The bytes of an IPv4 address, or of the network part of an IPv6 address.
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
        // The address is found by its position in the system's structure, because the structure's fields cannot be
        // imported on every platform.
        let place: Range<Int>
        switch address {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        default: return nil
        }
        let bytes = unsafe address?.withSockAddr { pointer, size in
            // The size is that of the structure, and the copied range is within the structure for either kind of
            // address.
            unsafe Array(UnsafeRawBufferPointer(start: pointer, count: size)[place])
        }
        guard let bytes else { return nil }
        self.init(bytes)
    }

    private static let loopback = [UInt8](repeating: 0, count: 15) + [1]
    /// The prefix that an IPv4 address has on a listener for both IP versions.
    private static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
}
