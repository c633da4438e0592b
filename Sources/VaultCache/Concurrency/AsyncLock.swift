import VaultModel

/// A lock for async functions: it admits one caller at a time, in order, without blocking a thread.
///
/// Neither the standard library nor swift-async-algorithms provides such a lock.
package final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    package init() {}

    /// Runs `body` while no other caller holds the lock.
    package func exclusively<Result: Sendable>(_ body: () async throws -> Result) async rethrows -> Result {
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        await withCheckedContinuation { waiter in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(waiter) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { waiter.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}

/// A flag that wakes all waiters when it is raised. If it is raised while nothing waits, the next wait returns at once.
///
/// The flag is kept inside a locked state; the caller that raises it resumes the waiters after unlocking.
struct WakeFlag {
    typealias Waiter = CheckedContinuation<Void, Never>

    private var waiters: [Waiter] = []
    private(set) var isRaised = false

    /// Raises the flag.
    ///
    /// - Returns: the waiters to resume.
    mutating func raise() -> [Waiter] {
        defer { waiters = [] }
        isRaised = waiters.isEmpty
        return waiters
    }

    /// Adds a waiter if the flag is not raised. If it is raised, lowers it instead.
    ///
    /// - Returns: whether the waiter was added; if not, the caller resumes it at once.
    mutating func wait(_ waiter: Waiter) -> Bool {
        guard !isRaised else {
            isRaised = false
            return false
        }
        waiters.append(waiter)
        return true
    }

    /// Lowers the flag, because the caller is about to check the state again anyway.
    mutating func lower() { isRaised = false }
}

/// Background work that must end before its vault closes.
package final class BackgroundTasks: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var last = 0
        var isEnded = false
    }

    private let state = Locked(State())

    package init() {}

    /// Starts a task, which should end soon after it is cancelled. After ``end()``, the task is cancelled at once.
    package func begin(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
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

    /// Cancels all tasks, and returns once they have ended.
    package func end() async {
        let tasks = state.withLock { state in
            state.isEnded = true
            return state.tasks.values
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
