/// Wakes one waiter; a wake that comes before the wait is remembered. It lives inside a locked state, and whoever
/// raises it resumes the waiter after unlocking.
struct Signal {
    typealias Waiter = CheckedContinuation<Void, Never>

    private var waiter: Waiter?
    private var isRaised = false

    /// Raises the signal.
    ///
    /// - Returns: the waiter to resume, if somebody waits.
    mutating func raise() -> Waiter? {
        defer { waiter = nil }
        isRaised = waiter == nil
        return waiter
    }

    /// Begins to wait, unless the signal was raised meanwhile.
    ///
    /// - Returns: whether the caller now waits; where not, it resumes at once.
    mutating func wait(_ waiter: Waiter) -> Bool {
        guard !isRaised else {
            isRaised = false
            return false
        }
        self.waiter = waiter
        return true
    }

    /// Forgets an earlier raise: the state is about to be looked at afresh.
    mutating func lower() { isRaised = false }
}
