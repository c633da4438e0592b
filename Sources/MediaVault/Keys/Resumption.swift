/// When what an owner before this one left undone of acts on the keys is gone on with. A pure value.
struct Resumption {
    private enum State {
        /// Due from a moment on.
        case due(ContinuousClock.Instant?)
        case running
        /// Nothing is left: whoever begins an act from now on goes on with it.
        case done
    }

    private var state = State.due(nil)

    /// How long after a failure it is tried again.
    private static let pause: Duration = .seconds(60)

    /// Whether it is to be begun now; it counts as begun then.
    mutating func begins(now: ContinuousClock.Instant) -> Bool {
        guard case .due(let moment) = state, moment.map({ $0 <= now }) ?? true else { return false }
        state = .running
        return true
    }

    /// Nothing is left.
    mutating func finish() { state = .done }

    /// It gave way to an act that was asked for: it goes on after that.
    mutating func giveWay() { state = .due(nil) }

    /// It failed, and is tried again in a while.
    mutating func fail(now: ContinuousClock.Instant) { state = .due(now + Self.pause) }
}
