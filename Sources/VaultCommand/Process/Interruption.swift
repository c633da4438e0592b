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

/// The end of a run by a signal that was asked of it.
struct Interrupted: Error, Hashable, Sendable {
    let signal: Int32
    /// What became of the work.
    var outcome = "what was received is kept"

    /// What is said of it.
    var message: String { "interrupted; \(outcome)" }
}

/// Hands signals to a closure in place of their default, until it is ended.
final class SignalWatch {
    private let numbers: [Int32]
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32], _ act: @escaping @Sendable (Int32) -> Void) {
        self.numbers = numbers
        let queue = DispatchQueue(label: "mediavault.signals")
        sources = numbers.map { number in
            // The default would end the process before the source sees the signal.
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { act(number) }
            source.resume()
            return source
        }
    }

    /// Gives the signals back to their defaults.
    func end() {
        for source in sources { source.cancel() }
        for number in numbers { _ = signal(number, SIG_DFL) }
    }
}

/// A thread for calls that block, one after another, so that none blocks a thread of the cooperative pool.
final class BlockingQueue: Sendable {
    private let queue: DispatchQueue

    init(_ label: String) { queue = DispatchQueue(label: label) }

    /// Runs `body` on the queue's thread.
    ///
    /// Cancelled while `body` blocks, this throws at once and leaves the call behind: the process is about to end.
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

    /// One call, ended once: by its result or by being cancelled, whichever comes first.
    private final class Call<Value: Sendable>: Sendable {
        private enum State {
            case new, ended
            case running(CheckedContinuation<Value, any Error>)
        }

        private let state = Locked(State.new)

        /// - Returns: false where the call was cancelled before it began.
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
