/// What remains to be done once the loader's state has been changed and unlocked.
struct Effects {
    private(set) var waiters: [WakeFlag.Waiter]
    /// Fetches to cancel because they are no longer needed.
    var cancelled: [FetchState.ID]
    /// Readers to wake, each at a given time.
    var alarms: [(reader: ReaderState.ID, time: ContinuousClock.Instant)] = []
    /// The number of bytes that passed through and will not be stored.
    var passedThrough: Int64 = 0

    init(waking waiters: [WakeFlag.Waiter]? = nil, cancelling cancelled: [FetchState.ID] = []) {
        (self.waiters, self.cancelled) = (waiters ?? [], cancelled)
    }

    mutating func wake(_ woken: [WakeFlag.Waiter]?) { waiters += woken ?? [] }

    mutating func merge(_ other: Effects) {
        waiters += other.waiters
        cancelled += other.cancelled
        passedThrough += other.passedThrough
        alarms += other.alarms
    }
}
