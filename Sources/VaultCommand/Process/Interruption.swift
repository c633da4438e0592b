import Dispatch
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Ends work cleanly on SIGINT and SIGTERM.
enum Interruption {
    /// Runs `work`; the first signal cancels it, and a second ends the process at once.
    ///
    /// - Parameter outcome: what is said of work that was cancelled.
    /// - Throws: ``Interrupted`` where a signal came before the work was done; else what `work` throws.
    static func cancelling<Value: Sendable>(
        _ outcome: String = "what was received is kept", _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await work() }
        let received = Locked<Int32?>(nil)
        let watch = SignalWatch([SIGINT, SIGTERM]) { number in
            let isSecond = received.withLock { first in
                defer { first = first ?? number }
                return first != nil
            }
            if isSecond { _exit(ExitStatus.signal(number).rawValue) }
            task.cancel()
        }
        defer { watch.end() }
        do {
            return try await task.value
        } catch {
            guard let number = received.withLock(\.self) else { throw error }
            throw Interrupted(signal: number, outcome: outcome)
        }
    }
}
