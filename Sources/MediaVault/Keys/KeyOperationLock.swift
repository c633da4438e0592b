import VaultModel
import VaultStorage

/// Allows one key operation at a time on a vault. A resumed operation gives way to a requested one.
package final class KeyOperationLock: Sendable {
    private struct State {
        var act: Receipt.Act?
        /// The task of the running operation if that operation gives way to requested ones; otherwise nil.
        var yielding: Task<Void, any Error>?
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// The running operation; nil if none is running.
    package var act: Receipt.Act? { state.withLock { $0.act } }

    /// Runs a requested key operation, unless another requested one is running.
    ///
    /// - Parameter act: the operation to report to other callers as running.
    /// - Throws: ``VaultError`` with code `busy` if another requested operation is running, or `closed` after
    ///   ``end()``; any error of `body`.
    package func exclusively<Result>(_ act: Receipt.Act, _ body: () async throws -> Result) async throws -> Result {
        while try begin(act) == .after { await waitUntilFree() }
        defer { finish() }
        return try await body()
    }

    /// Runs a background key operation. A requested operation cancels it; it should then end soon.
    ///
    /// - Throws: the errors of ``exclusively(_:_:)``; `CancellationError` if the operation gave way.
    func yielding(_ act: Receipt.Act, _ body: @escaping @Sendable () async throws -> Void) async throws {
        guard case .now(let task?) = try begin(act, giving: body) else { throw CancellationError() }
        defer { finish() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Prevents new operations and waits until the running one has ended, so that nothing is written after the vault
    /// has closed.
    func end() async {
        state.withLock { state in
            state.isOver = true
            state.yielding?.cancel()
        }
        await waitUntilFree()
    }

    private enum Turn: Equatable {
        /// The operation may run. The associated task is set if the operation gives way to others.
        case now(Task<Void, any Error>?)
        /// Another operation is running, but it is now giving way.
        case after
    }

    private func begin(_ act: Receipt.Act, giving body: (@Sendable () async throws -> Void)? = nil) throws -> Turn {
        try state.withLock { state in
            if state.isOver { throw VaultError(.closed, "the vault was closed; open it again") }
            guard let other = state.act else {
                state.act = act
                state.yielding = body.map { body in Task { try await body() } }
                return .now(state.yielding)
            }
            guard let yielding = state.yielding, body == nil else {
                throw VaultError(.busy, "\(other.title) is running on the keys of this vault; wait until it is done")
            }
            yielding.cancel()
            return .after
        }
    }

    private func waitUntilFree() async {
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                if state.act != nil { state.waiting.append(waiter) }
                return state.act == nil
            }
            if isFree { waiter.resume() }
        }
    }

    private func finish() {
        let waiting = state.withLock { state in
            (state.act, state.yielding) = (nil, nil)
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume() }
    }
}
