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
    /// What has stood still so long between requests yields where no more connections can be had.
    package var yielding: Duration = .seconds(1)
    /// What has stood still so long within a request or an answer yields then, too, where nothing else does.
    package var stalled: Duration = .seconds(2)

    /// Whether a connection has to go, however many there are.
    func isOver(_ phase: Phase, for time: Duration) -> Bool {
        switch phase {
        case .new: time >= firstHead
        case .receiving: time >= body
        case .answering, .idle: false
        }
    }

    /// Which connection goes so that another may come: one between requests before one within, then the one that has stood
    /// still longest.
    ///
    /// - Parameter connections: each by what it is doing, and how long it has stood still.
    /// - Returns: its index; nil where all are at work.
    func yielding(among connections: [(phase: Phase, still: Duration)]) -> Int? {
        func longest(_ isMeant: (Phase) -> Bool, _ least: Duration) -> Int? {
            connections.indices.filter { isMeant(connections[$0].phase) && connections[$0].still >= least }
                .max { connections[$0].still < connections[$1].still }
        }
        return longest({ $0 == .new || $0 == .idle }, yielding) ?? longest({ _ in true }, stalled)
    }
}
