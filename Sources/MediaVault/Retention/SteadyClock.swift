/// Watches the wall clock beside one that is never set: nothing goes for its age while the time of day is in doubt.
///
/// A clock that is set is noticed when it is looked at next. From then on it has to go evenly for ``settling`` before ages
/// by it are believed, and so it has to when the watch begins: a minute in which it is years ahead costs nothing.
struct SteadyClock {
    /// What a look found.
    enum Finding: Hashable {
        /// The clock goes as it did.
        case even
        /// It was set: what it told from the first to the last of these times was this time in truth.
        case set(first: Int64, last: Int64, now: Int64)
    }

    /// The time of day at the last look, and when that was.
    private var last: (wall: Int64, uptime: ContinuousClock.Instant)?
    /// The time of day when it began to go evenly, and when that was.
    private var begin: (wall: Int64, uptime: ContinuousClock.Instant)?

    /// How long a clock has to go evenly.
    static let settling: Duration = .seconds(3600)
    /// How much further one may have gone between two looks: what is set by less ages nothing, for ages are hours.
    static let tolerance: UInt64 = 300

    /// Looks at the time of day.
    mutating func look(wall: Int64, uptime: ContinuousClock.Instant) -> Finding {
        defer { last = (wall, uptime) }
        guard let last, let begin else {
            begin = (wall, uptime)
            return .even
        }
        let (expected, isFar) = last.wall.addingReportingOverflow((uptime - last.uptime).components.seconds)
        let (difference, isFarther) = wall.subtractingReportingOverflow(expected)
        guard isFar || isFarther || difference.magnitude > Self.tolerance else { return .even }
        self.begin = (wall, uptime)
        return .set(first: begin.wall, last: expected, now: wall)
    }

    /// Whether ages by the time of day are believed.
    func isSteady(at uptime: ContinuousClock.Instant) -> Bool {
        begin.map { uptime - $0.uptime >= Self.settling } ?? false
    }
}
