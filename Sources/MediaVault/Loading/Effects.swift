/// What is to be done after the loader's state was changed and unlocked.
struct Effects {
    var waiters: [Signal.Waiter] = []
    /// Fetches that nobody wants any more.
    var cancelled: [FetchState.ID] = []

    /// Bytes that were handed on and will not be stored.
    var passedThrough: Int64 = 0

    mutating func wake(_ waiter: Signal.Waiter??) {
        if let waiter = waiter ?? nil { waiters.append(waiter) }
    }

    mutating func merge(_ other: Effects) {
        waiters += other.waiters
        cancelled += other.cancelled
        passedThrough += other.passedThrough
    }
}
