/// Wakes whoever waits; a wake that comes before the wait is remembered. It lives inside a locked state, and whoever
/// raises it resumes the waiters after unlocking.
struct Signal {
    typealias Waiter = CheckedContinuation<Void, Never>

    private var waiters: [Waiter] = []
    private(set) var isRaised = false

    /// Raises the signal.
    ///
    /// - Returns: the waiters to resume.
    mutating func raise() -> [Waiter] {
        defer { waiters = [] }
        isRaised = waiters.isEmpty
        return waiters
    }

    /// Begins to wait, unless the signal was raised meanwhile.
    ///
    /// - Returns: whether the caller now waits; where not, it resumes at once.
    mutating func wait(_ waiter: Waiter) -> Bool {
        guard !isRaised else {
            isRaised = false
            return false
        }
        waiters.append(waiter)
        return true
    }

    /// Forgets an earlier raise: the state is about to be looked at afresh.
    mutating func lower() { isRaised = false }
}
