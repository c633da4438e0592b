/// What is to be done after the loader's state was changed and unlocked.
struct Effects {
    var waiters: [Signal.Waiter] = []
    /// Fetches that nobody wants any more.
    var cancelled: [FetchState.ID] = []

    mutating func wake(_ waiter: Signal.Waiter??) {
        if let waiter = waiter ?? nil { waiters.append(waiter) }
    }

    mutating func merge(_ other: Effects) {
        waiters += other.waiters
        cancelled += other.cancelled
    }
}
