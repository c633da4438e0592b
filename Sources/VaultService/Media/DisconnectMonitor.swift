import NIOCore
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Notices that a client has gone away while nothing is written to it.
///
/// The kernel is asked, in ``DisconnectMonitor`` and only while an answer waits: to watch what arrives on the connection
/// instead would cost its keep-alive. A client that has closed its sending side alone counts as gone too.
struct DisconnectWatch: Sendable {
    /// The client closed or reset its connection.
    struct ClientGone: Error {}

    /// A watch that has begun.
    struct Watching {
        fileprivate let id: Int

        /// Watches no more.
        func end() { DisconnectMonitor.shared.remove(id) }
    }

    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    /// Does some work that waits for the origin, and cancels it once the client is gone.
    ///
    /// - Throws: what the work throws, which is `CancellationError` where it was cancelled.
    func during<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task(executorPreference: EventLoopExecutor(channel.eventLoop)) { try await work() }
        let watching = begin(while: { true }, whenGone: { task.cancel() })
        defer { watching.end() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Watches for the client to go away, until ``Watching/end()``.
    ///
    /// - Parameters:
    ///   - isWaiting: whether nothing is being written: a write finds out by itself.
    ///   - whenGone: called once when it has gone.
    func begin(while isWaiting: @escaping @Sendable () -> Bool, whenGone: @escaping @Sendable () -> Void) -> Watching {
        Watching(
            id: DisconnectMonitor.shared.add(
                DisconnectMonitor.Client(isWaiting: isWaiting, isThere: { await isThere() }, whenGone: whenGone)))
    }

    private func isThere() async -> Bool {
        guard channel.isActive else { return false }
        // On a socket of this machine the end shows by itself.
        guard channel.localAddress?.pathname == nil else { return true }
        #if os(Linux)
        guard let socket = channel as? any SocketOptionProvider else { return true }
        return (try? await socket.getTCPInfo().map { $0.tcpi_state == TCP_ESTABLISHED }.get()) ?? false
        #else
        // Only a reset shows here, not a proper close.
        return true
        #endif
    }
}

/// Looks after connections that wait, all in one round a few times a second: a timer for each answer would cost more than
/// a short answer does.
final class DisconnectMonitor: Sendable {
    /// A connection, what is asked about it, and what is done once its client has gone.
    struct Client: Sendable {
        let isWaiting: @Sendable () -> Bool
        let isThere: @Sendable () async -> Bool
        let whenGone: @Sendable () -> Void
    }

    private struct Round {
        var clients: [Int: Client] = [:]
        var lastID = 0
        var isRunning = false
    }

    private let round = Locked(Round())

    /// The round of the process.
    static let shared = DisconnectMonitor()

    /// How long until the next round: a client that leaves is noticed soon, and many cost no more than few.
    static func interval(of count: Int) -> Duration { min(.milliseconds(250), .milliseconds(50) * (1 + count / 64)) }

    /// Takes a client in.
    ///
    /// - Returns: what takes it out again.
    func add(_ client: Client) -> Int {
        let (id, starts) = round.withLock { round in
            round.lastID += 1
            round.clients[round.lastID] = client
            defer { round.isRunning = true }
            return (round.lastID, !round.isRunning)
        }
        if starts { Task { await run() } }
        return id
    }

    /// Takes a client out.
    func remove(_ id: Int) { round.withLock { _ = $0.clients.removeValue(forKey: id) } }

    private func pause() -> Duration { Self.interval(of: round.withLock { $0.clients.count }) }

    /// Goes round until there is nobody.
    private func run() async {
        while true {
            try? await Task.sleep(for: pause())
            let clients = round.withLock { round in
                if round.clients.isEmpty { round.isRunning = false }
                return round.clients
            }
            guard !clients.isEmpty else { return }
            for (id, client) in clients where client.isWaiting() {
                guard await !client.isThere() else { continue }
                remove(id)
                client.whenGone()
            }
        }
    }
}
