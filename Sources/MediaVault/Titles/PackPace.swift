/// Decides when to make data written to a pack durable: a pure value.
struct PackPace: Hashable {
    /// What to do now.
    enum Step: Hashable {
        case wait
        /// Make the whole blocks durable, and record the files that end within them.
        case checkpoint
        /// Close the segment, because files wait for its last block and nothing follows.
        case close
    }

    /// The maximum time before written files are recorded; a full segment, at 8 MiB, is recorded earlier.
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
    /// - Parameter isWaiting: whether files remain that end in an incomplete block.
    mutating func committed(isWaiting: Bool, now: ContinuousClock.Instant) {
        hasGrown = false
        since = isWaiting ? now : nil
    }

    func step(now: ContinuousClock.Instant) -> Step {
        guard let since, now - since >= Self.time else { return .wait }
        return hasGrown ? .checkpoint : .close
    }
}
