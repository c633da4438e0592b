import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Notices that a client has gone away while nothing is written to it.
///
/// The kernel is asked, in ``ClientRound`` and only while an answer waits: to watch what arrives on the connection
/// instead would cost its keep-alive. A client that has closed its sending side alone counts as gone too.
struct ClientWatch: Sendable {
    /// The client closed or reset its connection.
    struct ClientGone: Error {}

    /// A watch that has begun.
    struct Watching {
        fileprivate let id: Int

        /// Watches no more.
        func end() { ClientRound.shared.remove(id) }
    }

    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    /// Does some work that waits for the origin, and cancels it once the client is gone.
    ///
    /// - Throws: what the work throws, which is `CancellationError` where it was cancelled.
    func during<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task(executorPreference: LoopExecutor(channel.eventLoop)) { try await work() }
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
            id: ClientRound.shared.add(
                ClientRound.Client(isWaiting: isWaiting, isThere: { await isThere() }, whenGone: whenGone)))
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
