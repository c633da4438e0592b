import HummingbirdCore
import NIOCore
import ServiceLifecycle
import Synchronization
import VaultModel

/// The connections of one listener: how many there may be, and who goes.
///
/// No client is turned away while another's connection stands still: those that have done so longest yield. A peer beyond
/// this machine has its share of them, within which the same holds.
final class OpenConnections: Service {
    fileprivate struct State {
        var accepted = 0
        var open: [ObjectIdentifier: ClientConnection] = [:]
        var shares: PeerShares
        /// The most that were open since a crowd has last gone.
        var peak = 0
    }

    private let most: Int
    private let limits: ConnectionLimits
    private let afterCrowd: @Sendable () -> Void
    private let state: Locked<State>

    /// So many at a time are a crowd.
    private static let crowd = 32

    /// - Parameters:
    ///   - most: how many there may be.
    ///   - afterCrowd: called when most of a crowd have gone.
    init(most: Int, limits: ConnectionLimits, afterCrowd: @escaping @Sendable () -> Void = {}) {
        self.most = most
        self.limits = limits
        self.afterCrowd = afterCrowd
        state = Locked(State(shares: PeerShares(of: most)))
    }

    // MARK: For the connections

    func add(_ channel: any Channel) -> ClientConnection {
        let connection = ClientConnection(channel)
        state.withLock { state in
            state.open[ObjectIdentifier(connection)] = connection
            if let peer = connection.peer { state.shares.take(peer) }
        }
        return connection
    }

    /// Whether a connection that was added may stay: where its peer has more than its share, another of the peer's that
    /// stands still yields, or it may not.
    func mayStay(_ connection: ClientConnection, at now: NIODeadline) -> Bool {
        guard let peer = connection.peer else { return true }
        let (isOver, yields) = state.withLock { state -> (Bool, ClientConnection?) in
            guard state.shares.isOver(peer) else { return (false, nil) }
            let others = state.open.values.filter { $0.peer == peer && $0 !== connection }
            let standing = others.map { $0.standing(at: now) }
            let yields = limits.yielding(among: standing, most: 1, within: 1).first.map { others[$0] }
            // It is as good as gone, so that it does not make room twice.
            if let yields { state.forget(yields) }
            return (true, yields)
        }
        yields?.channel.close(promise: nil)
        return !isOver || yields != nil
    }

    func remove(_ connection: ClientConnection) {
        state.withLock { $0.forget(connection) }
    }

    // MARK: For the listener

    /// Speaks HTTP on connections that are looked after here.
    ///
    /// - Parameters:
    ///   - held: answers what need not be waited for; nil where nothing is answered so.
    ///   - identity: what TLS is spoken with; nil is none.
    func server(_ held: CacheHitResponder?, _ identity: TLSIdentity? = nil) -> HTTPServerBuilder {
        HTTPServerBuilder { [self] responder in
            let plain = EventLoopChannel(
                base: HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        additionalChannelHandlers: [ConnectionObserver(self)]
                            + (held.map { [CacheHitHandler($0)] } ?? []) + [ConnectionOptionsInstaller()])))
            guard let identity else { return plain }
            return SecureChannel(base: plain, identity: identity)
        }
    }

    private var isFull: Bool { state.withLock { $0.accepted >= most } }

    /// Whether another connection may be accepted; where not, some that stand still yield.
    func mayAccept() -> Bool {
        guard isFull else { return true }
        makeRoom(at: .now())
        return false
    }

    func accepted() { state.withLock { $0.accepted += 1 } }

    func closed() { state.withLock { $0.accepted -= 1 } }

    // MARK: Who goes

    /// Looks after the connections every second, more often while there is no room, until the service ends.
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
        if isFull { makeRoom(at: now) }
        if hasCrowdGone() { afterCrowd() }
    }

    private func hasCrowdGone() -> Bool {
        state.withLock { state in
            state.peak = max(state.peak, state.open.count)
            guard state.peak >= Self.crowd, state.open.count <= state.peak / 4 else { return false }
            state.peak = state.open.count
            return true
        }
    }

    private func makeRoom(at now: NIODeadline) {
        let open = state.withLock { Array($0.open.values) }
        let share = most / 64
        let standing = open.map { $0.standing(at: now) }
        // Where there is little room a crowd that asks for nothing goes by fours: others wait until it has gone.
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
    /// What a listener asks before it accepts.
    struct Admission: AvailableConnectionsDelegate {
        let connections: OpenConnections

        func connectionOpened() { connections.accepted() }

        func connectionClosed() { connections.closed() }

        func isAcceptingNewConnections() -> Bool { connections.mayAccept() }
    }
}

/// One client's connection, as far as it matters who has to go: what it is doing, and since when it stands still.
///
/// Its event loop writes, whoever needs room reads.
final class ClientConnection: Sendable {
    let channel: any Channel
    /// Whose it is; nil for a client of this machine.
    let peer: PeerAddress?
    private let phase = Atomic(ConnectionLimits.Phase.new.rawValue)
    /// Nanoseconds of the monotonic clock.
    private let moved = Atomic(NIODeadline.now().uptimeNanoseconds)

    init(_ channel: any Channel) {
        self.channel = channel
        peer = PeerAddress(channel.remoteAddress)
    }

    /// Something has gone on.
    func note(_ phase: ConnectionLimits.Phase) {
        self.phase.store(phase.rawValue, ordering: .relaxed)
        moved.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed)
    }

    /// What it is doing, and for how long it has stood still.
    func standing(at now: NIODeadline) -> (phase: ConnectionLimits.Phase, still: Duration) {
        let still = Int64(clamping: now.uptimeNanoseconds) - Int64(clamping: moved.load(ordering: .relaxed))
        return (ConnectionLimits.Phase(rawValue: phase.load(ordering: .relaxed)) ?? .idle, .nanoseconds(max(0, still)))
    }
}

/// How many of a listener's connections each peer has, so that none has all of them. A value.
struct PeerShares {
    /// The most that one may have.
    let most: Int
    private var taken: [PeerAddress: Int] = [:]

    /// - Parameter connections: how many there may be of all peers.
    init(of connections: Int) { most = max(1, connections / 4) }

    /// Whether a peer has more than its share.
    func isOver(_ peer: PeerAddress) -> Bool { taken[peer, default: 0] > most }

    /// A peer has one more.
    mutating func take(_ peer: PeerAddress) { taken[peer, default: 0] += 1 }

    /// A peer has one fewer.
    mutating func giveBack(_ peer: PeerAddress) {
        let left = taken[peer, default: 0] - 1
        taken[peer] = left > 0 ? left : nil
    }
}

/// Who a client is, as far as shares of the connections go: its IPv4 address, or its IPv6 network of 64 bits, of which a
/// machine may take as many addresses as it likes.
struct PeerAddress: Hashable, Sendable {
    private let bytes: [UInt8]

    /// - Parameter bytes: the 4 or 16 of an IP address.
    /// - Returns: nil for this machine itself, where all clients have one address.
    init?(_ bytes: [UInt8]) {
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mapped)
        let plain = isMapped ? Array(bytes[12...]) : bytes
        guard plain.count == 4 ? plain[0] != 127 : plain != Self.loopback else { return nil }
        self.bytes = plain.count == 4 ? plain : Array(plain.prefix(8))
    }

    /// - Parameter address: where a connection comes from; nil where nobody knows any more.
    /// - Returns: nil for this machine itself, by a socket file too.
    init?(_ address: SocketAddress?) {
        // Where the address lies in the system's structure, whose fields have no module of their own on every platform.
        let place: Range<Int>
        switch address {
        case .v4: place = 4..<8
        case .v6: place = 8..<24
        default: return nil
        }
        let bytes = unsafe address?.withSockAddr { pointer, size in
            // As long as the library says; what is copied lies within for either kind.
            unsafe Array(UnsafeRawBufferPointer(start: pointer, count: size)[place])
        }
        guard let bytes else { return nil }
        self.init(bytes)
    }

    private static let loopback = [UInt8](repeating: 0, count: 15) + [1]
    /// What an IPv4 address begins with on a listener that takes both.
    private static let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
}
