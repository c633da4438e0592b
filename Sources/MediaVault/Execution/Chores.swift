import VaultModel

/// Work that goes on beside those who asked for it, and must be over before its vault closes.
final class Chores: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var last = 0
        var isEnded = false
    }

    private let state = Locked(State())

    /// Begins a piece of work; it should end soon after it is cancelled. After ``end()`` it begins cancelled.
    func begin(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let (task, isEnded) = state.withLock { state in
            state.last += 1
            let number = state.last
            let task = Task {
                await work()
                forget(number)
            }
            state.tasks[number] = task
            return (task, state.isEnded)
        }
        if isEnded { task.cancel() }
        return task
    }

    private func forget(_ number: Int) { state.withLock { $0.tasks[number] = nil } }

    /// Cancels all work, and returns when it is over.
    func end() async {
        let tasks = state.withLock { state in
            state.isEnded = true
            return state.tasks.values
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
