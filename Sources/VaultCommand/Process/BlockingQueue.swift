import Dispatch
import VaultModel

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
