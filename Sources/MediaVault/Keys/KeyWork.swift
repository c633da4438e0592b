import VaultModel

/// Lets one act at a time work on the keys of a vault. What goes on with an act that was broken off gives way to one that
/// is asked for.
package final class KeyWork: Sendable {
    private struct State {
        var act: Receipt.Act?
        /// What has the act that works give way; nil where it does not.
        var yielding: Task<Void, any Error>?
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// The act that works now; nil where none does.
    package var act: Receipt.Act? { state.withLock { $0.act } }

    /// Runs an act, unless another one works that was asked for.
    ///
    /// - Parameter act: what others are told that runs.
    /// - Throws: ``VaultError`` with code `busy` where another act works, `closed` after ``end()``; what `body` throws.
    package func exclusively<Result>(_ act: Receipt.Act, _ body: () async throws -> Result) async throws -> Result {
        while try begin(act) == .after { await waitUntilFree() }
        defer { finish() }
        return try await body()
    }

    /// Runs an act that nobody waits for: it is cancelled when another is asked for, and should end soon then.
    ///
    /// - Throws: as ``exclusively(_:_:)``; `CancellationError` where it gave way.
    func yielding(_ act: Receipt.Act, _ body: @escaping @Sendable () async throws -> Void) async throws {
        guard case .now(let task?) = try begin(act, giving: body) else { throw CancellationError() }
        defer { finish() }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Lets no act begin any more, and returns when none runs: what it writes must not come after the vault has closed.
    func end() async {
        state.withLock { state in
            state.isOver = true
            state.yielding?.cancel()
        }
        await waitUntilFree()
    }

    private enum Turn: Equatable {
        /// With the task of an act that gives way.
        case now(Task<Void, any Error>?)
        /// Another one works, and gives way now.
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
                throw VaultError(.busy, "\(other.command) works on the keys of this vault; wait until it is done")
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
