/// Decides when to make data written to a pack durable. It is a value type without I/O.
struct PackPace: Hashable {
    /// The step to take now.
    enum Step: Hashable {
        case wait
        /// Make the whole blocks durable, and record the files that end within those blocks.
        case checkpoint
        /// Close the segment, because some files end in its last, incomplete block and no more data follows.
        case close
    }

    /// The maximum time before written files are recorded. Files in a full segment, at 8 MiB, are recorded earlier.
    static let time: Duration = .seconds(1)

    private var hasGrown = false
    private var since: ContinuousClock.Instant?

    /// Notes that a file was written to the pack.
    mutating func note(now: ContinuousClock.Instant) {
        hasGrown = true
        since = since ?? now
    }

    /// Notes that the written data is durable.
    ///
    /// - Parameter isWaiting: whether files that end in an incomplete block are still waiting.
    mutating func committed(isWaiting: Bool, now: ContinuousClock.Instant) {
        hasGrown = false
        since = isWaiting ? now : nil
    }

    func step(now: ContinuousClock.Instant) -> Step {
        guard let since, now - since >= Self.time else { return .wait }
        return hasGrown ? .checkpoint : .close
    }
}
