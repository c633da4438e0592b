/// What is to be done after the loader's state was changed and unlocked.
struct Effects {
    var waiters: [Signal.Waiter] = []
    /// Fetches that nobody wants any more.
    var cancelled: [FetchState.ID] = []
    /// Readers to be woken at a time.
    var alarms: [(reader: ReaderState.ID, time: ContinuousClock.Instant)] = []

    /// Bytes that were handed on and will not be stored.
    var passedThrough: Int64 = 0

    mutating func wake(_ woken: [Signal.Waiter]?) { waiters += woken ?? [] }

    mutating func merge(_ other: Effects) {
        waiters += other.waiters
        cancelled += other.cancelled
        passedThrough += other.passedThrough
        alarms += other.alarms
    }
}
