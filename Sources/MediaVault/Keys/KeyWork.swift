import Synchronization
import VaultModel

/// Lets one act at a time work on the keys of a vault.
package final class KeyWork: Sendable {
    private struct State {
        var act: String?
        var isOver = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// The act that works now, by the name of its command; nil where none does.
    package var act: String? { state.withLock { $0.act } }

    /// Runs an act, unless another one works.
    ///
    /// - Parameter act: what others are told that runs: the name of its command, `rewrap`.
    /// - Throws: ``VaultError`` with code `busy` where another act works, `closed` after ``end()``; what `body` throws.
    package func exclusively<Result>(_ act: String, _ body: () async throws -> Result) async throws -> Result {
        try begin(act)
        defer { finish() }
        return try await body()
    }

    /// Lets no act begin any more, and returns when none runs: what it writes must not come after the vault has closed.
    func end() async {
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                state.isOver = true
                if state.act != nil { state.waiting.append(waiter) }
                return state.act == nil
            }
            if isFree { waiter.resume() }
        }
    }

    private func begin(_ act: String) throws {
        let (other, isOver) = state.withLock { state in
            defer { if !state.isOver { state.act = state.act ?? act } }
            return (state.act, state.isOver)
        }
        if isOver { throw VaultError(.closed, "the vault was closed; open it again") }
        if let other {
            throw VaultError(.busy, "keys \(other) works on the keys of this vault; wait until it is done")
        }
    }

    private func finish() {
        let waiting = state.withLock { state in
            state.act = nil
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume() }
    }
}
