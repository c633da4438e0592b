/// How long a connection may do what it does.
package struct ConnectionLimits: Hashable, Sendable {
    /// What a connection is doing.
    enum Phase: UInt8, Hashable, Sendable {
        /// No request has come yet, or not all of its head.
        case new
        /// The body of a request is on its way.
        case receiving
        /// A request is being answered.
        case answering
        /// All requests are answered.
        case idle
    }

    /// How long the head of the first request may take, TLS included.
    package var firstHead: Duration = .seconds(20)
    /// How long the body of a request may take.
    package var body: Duration = .seconds(30)
    /// How long a connection is kept on which nothing is asked.
    package var idle: Duration = .seconds(60)
    /// What has stood still so long yields where no more connections can be had.
    package var yielding: Duration = .seconds(1)

    /// Whether a connection has to go, however many there are.
    func isOver(_ phase: Phase, for time: Duration) -> Bool {
        switch phase {
        case .new: time >= min(firstHead, idle)
        case .receiving: time >= body
        case .idle: time >= idle
        case .answering: false
        }
    }

    /// Which connections go so that others may come: those between requests before those within, then those that have
    /// stood still longest.
    ///
    /// - Parameters:
    ///   - connections: each by what it is doing, and how long it has stood still.
    ///   - count: how many at most.
    ///   - within: how many of them at most within a request: they lose more than a connection.
    /// - Returns: their indices, none where all are at work.
    func yielding(
        among connections: [(phase: Phase, still: Duration)], most count: Int, within: Int
    ) -> [Int] {
        let stale = connections.indices.filter { connections[$0].still >= yielding }
        let ranked = stale.sorted { one, other in
            let (one, other) = (connections[one], connections[other])
            return one.phase.isWithinRequest == other.phase.isWithinRequest
                ? one.still > other.still : other.phase.isWithinRequest
        }
        let between = ranked.count { !connections[$0].phase.isWithinRequest }
        return Array(ranked.prefix(min(count, max(between, within))))
    }
}

extension ConnectionLimits.Phase {
    fileprivate var isWithinRequest: Bool { self == .receiving || self == .answering }
}
