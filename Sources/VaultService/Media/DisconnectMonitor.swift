import NIOCore
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Detects that a client has disconnected while nothing is being written to it.
///
/// ``DisconnectMonitor`` polls the kernel, but only while an answer is waiting for bytes. It does not watch for bytes
/// on the connection, because then the connection could not be kept alive. A client that has closed only its sending
/// side also counts as disconnected.
struct DisconnectWatch: Sendable {
    /// The error thrown if the client has closed or reset its connection.
    struct ClientGone: Error {}

    /// An active watch.
    struct Watching {
        fileprivate let id: Int

        /// Ends the watch.
        func end() { DisconnectMonitor.shared.remove(id) }
    }

    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    /// Runs work that waits for the origin, and cancels the work once the client has disconnected.
    ///
    /// - Throws: the error of the work, which is `CancellationError` if the work was cancelled.
    func during<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task(executorPreference: EventLoopExecutor(channel.eventLoop)) { try await work() }
        let watching = begin(while: { true }, onDisconnect: { task.cancel() })
        defer { watching.end() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Watches for the client to disconnect, until ``Watching/end()`` is called.
    ///
    /// - Parameters:
    ///   - isWaiting: returns whether nothing is being written. If something is, the write itself detects the
    ///     disconnect.
    ///   - onDisconnect: called once when the client has disconnected.
    func begin(while isWaiting: @escaping @Sendable () -> Bool, onDisconnect: @escaping @Sendable () -> Void)
        -> Watching
    {
        Watching(
            id: DisconnectMonitor.shared.add(
                DisconnectMonitor.Client(isWaiting: isWaiting, isThere: { await isThere() }, onDisconnect: onDisconnect)
            ))
    }

    private func isThere() async -> Bool {
        guard channel.isActive else { return false }
        // On a socket file, a disconnect is detected without polling.
        guard channel.localAddress?.pathname == nil else { return true }
        #if os(Linux)
        guard let socket = channel as? any SocketOptionProvider else { return true }
        return (try? await socket.getTCPInfo().map { $0.tcpi_state == TCP_ESTABLISHED }.get()) ?? false
        #else
        // On this system, only a reset is detected, not an orderly close.
        return true
        #endif
    }
}

/// Checks all waiting connections together, a few times a second.
///
/// A separate timer for each answer would cost more than a short answer does.
final class DisconnectMonitor: Sendable {
    /// The closures with which to check a client's connection, and to react once the client has disconnected.
    struct Client: Sendable {
        let isWaiting: @Sendable () -> Bool
        let isThere: @Sendable () async -> Bool
        let onDisconnect: @Sendable () -> Void
    }

    private struct Round {
        var clients: [Int: Client] = [:]
        var lastID = 0
        var isRunning = false
    }

    private let round = Locked(Round())

    /// The process's only monitor.
    static let shared = DisconnectMonitor()

    /// Returns the time until the next check, which grows with the number of clients.
    ///
    /// A disconnect is still noticed soon, and many clients cost no more than a few.
    static func interval(of count: Int) -> Duration { min(.milliseconds(250), .milliseconds(50) * (1 + count / 64)) }

    /// Registers a client.
    ///
    /// - Returns: the id to pass to ``remove(_:)``.
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

    /// Removes a client.
    func remove(_ id: Int) { round.withLock { _ = $0.clients.removeValue(forKey: id) } }

    private func pause() -> Duration { Self.interval(of: round.withLock { $0.clients.count }) }

    /// Polls until no client is registered.
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
                client.onDisconnect()
            }
        }
    }
}
