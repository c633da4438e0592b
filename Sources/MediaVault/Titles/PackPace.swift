/// When what was written into a pack is made durable: a pure value.
struct PackPace: Hashable {
    /// What is to be done now.
    enum Step: Hashable {
        case wait
        /// Make the whole blocks durable, and record the files that end within them.
        case checkpoint
        /// Close the segment, because files wait for its last block and nothing follows.
        case close
    }

    /// The longest time before written files are recorded. Before that they are if a segment is full, at 8 MiB.
    static let time: Duration = .seconds(1)

    private var hasGrown = false
    private var since: ContinuousClock.Instant?

    /// Notes that a file was written.
    mutating func note(now: ContinuousClock.Instant) {
        hasGrown = true
        since = since ?? now
    }

    /// Notes that what was written is durable.
    ///
    /// - Parameter isWaiting: whether files are left that end in a block that is not complete.
    mutating func committed(isWaiting: Bool, now: ContinuousClock.Instant) {
        hasGrown = false
        since = isWaiting ? now : nil
    }

    func step(now: ContinuousClock.Instant) -> Step {
        guard let since, now - since >= Self.time else { return .wait }
        return hasGrown ? .checkpoint : .close
    }
}
