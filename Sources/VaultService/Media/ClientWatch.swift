import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Notices that a client has gone away while nothing is written to it.
///
/// The kernel is asked, a few times a second and only while an answer waits: to watch what arrives on the connection
/// instead would cost its keep-alive. A client that has closed its sending side alone counts as gone too.
struct ClientWatch: Sendable {
    /// The client closed or reset its connection.
    struct ClientGone: Error {}

    private let channel: any Channel
    private let interval: Duration

    init(_ channel: any Channel, interval: Duration = .milliseconds(250)) {
        self.channel = channel
        self.interval = interval
    }

    /// Does some work that waits for the origin, and cancels it once the client is gone.
    ///
    /// - Throws: what the work throws; ``ClientGone``.
    func during<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await work() }
            group.addTask {
                try await waitUntilGone()
                throw ClientGone()
            }
            guard let value = try await group.next() else { throw ClientGone() }
            return value
        }
    }

    /// Returns once the client is gone. It is looked for only while `isWaiting`: a write finds out by itself.
    ///
    /// - Throws: `CancellationError` where the task was cancelled.
    func waitUntilGone(while isWaiting: @Sendable () -> Bool = { true }) async throws {
        while true {
            try await Task.sleep(for: interval)
            if isWaiting(), await !isThere() { return }
        }
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
