import Dispatch
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Ends work cleanly on SIGINT and SIGTERM.
enum Interruption {
    /// Runs `work`. The first signal cancels the work, and Ctrl-C after that ends the process at once.
    ///
    /// A second SIGTERM has no effect, because a supervisor may send SIGTERM both to this process and to a script that
    /// passes it on.
    ///
    /// - Parameter outcome: the words with which the message describes the state of cancelled work.
    /// - Throws: ``Interrupted`` if `work` throws after a signal, else the error that `work` throws.
    static func cancelling<Value: Sendable>(
        _ outcome: String = Interrupted.usualOutcome, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await work() }
        let received = Locked<Int32?>(nil)
        let watch = SignalWatch([SIGINT, SIGTERM]) { number in
            let isFirst = received.withLock { first in
                defer { first = first ?? number }
                return first == nil
            }
            if isFirst { task.cancel() } else if number == SIGINT { _exit(ExitStatus.signal(number).rawValue) }
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

/// The error that ends a run interrupted by a signal.
struct Interrupted: Error, Hashable, Sendable {
    let signal: Int32
    /// The words with which the message describes the state of the work.
    var outcome = Self.usualOutcome

    static let usualOutcome = "received data is kept"

    /// The message for standard error.
    var message: String { "interrupted; \(outcome)" }
}

/// Passes signals to a closure, instead of letting them take their default action, until ``end()`` is called.
final class SignalWatch {
    private let numbers: [Int32]
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32], _ act: @escaping @Sendable (Int32) -> Void) {
        self.numbers = numbers
        let queue = DispatchQueue(label: "mediavault.signals")
        sources = numbers.map { number in
            // Otherwise, the default action would end the process before the source sees the signal.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { act(number) }
            source.resume()
            return source
        }
    }

    /// Ends the watch, and restores the signals' default actions.
    func end() {
        for source in sources { source.cancel() }
        for number in numbers { _ = signal(number, SIG_DFL) }
    }
}

/// Runs blocking calls one at a time, on a thread outside the cooperative pool.
///
/// The vault's pool is not used, because it neither preserves the order of calls nor abandons a call that waits for the
/// user.
final class BlockingQueue: Sendable {
    private let queue: DispatchQueue

    init(_ label: String) { queue = DispatchQueue(label: label) }

    /// Runs `body` on the queue's thread.
    ///
    /// If the task is cancelled while `body` blocks, this throws at once and abandons the call, because the process is
    /// about to end.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        let call = Call<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard call.begin(continuation) else {
                    continuation.resume(throwing: CancellationError())
                    return
                }
                queue.async { call.end(with: Result(catching: body)) }
            }
        } onCancel: {
            call.end(with: .failure(CancellationError()))
        }
    }

    /// A call, which is completed once, either by its result or by cancellation, whichever comes first.
    private final class Call<Value: Sendable>: Sendable {
        private enum State {
            case new, ended
            case running(CheckedContinuation<Value, any Error>)
        }

        private let state = Locked(State.new)

        /// Starts the call.
        ///
        /// - Returns: false if the call was cancelled before it began.
        func begin(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
            state.withLock { state in
                guard case .new = state else { return false }
                state = .running(continuation)
                return true
            }
        }

        func end(with result: Result<Value, any Error>) {
            let ended = state.withLock { state in
                defer { state = .ended }
                return state
            }
            if case .running(let continuation) = ended { continuation.resume(with: result) }
        }
    }
}
