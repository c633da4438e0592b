import VaultModel

/// When an origin is asked whether a representation is still the one it has: one question for all who want to know, and
/// none waits for it long. A value.
struct Revalidation {
    /// What the question came to.
    enum Verdict: Equatable {
        /// It is still the one, as an answer of this status says: 304, or another where the origin knows no conditions.
        case confirmed(status: Int)
        /// It is another, and the new one has begun.
        case changed
        /// Nobody knows; the status is that of the origin's answer, where it gave one.
        case stale(Staleness, status: Int? = nil)
        /// The origin says plainly that it gives it no more.
        case refused(OriginFailure)
    }

    /// What somebody does who wants to know.
    enum Advice: Equatable {
        /// Ask, and wait until then at most.
        case ask(until: ContinuousClock.Instant)
        /// Somebody asks: wait until then at most.
        case join(until: ContinuousClock.Instant)
        /// This is known.
        case know(Verdict)
    }

    /// How long a first byte is held up at most.
    static let patience: Duration = .seconds(3)
    /// What was found out is not asked again so soon: a player that seeks asks many times a second.
    static let quiet: Duration = .seconds(2)
    /// The same where nothing was found out.
    static let doubt: Duration = .seconds(10)

    private var begun: ContinuousClock.Instant?
    private var last: (verdict: Verdict, time: ContinuousClock.Instant)?

    /// Whether the origin is being asked.
    var isRunning: Bool { begun != nil }

    /// What to do now. Whoever is told to ask does.
    ///
    /// - Parameters:
    ///   - patience: how long the asker waits, counted from when the question was put.
    ///   - doubt: how long what was not found out is not asked again.
    mutating func advice(
        now: ContinuousClock.Instant, patience: Duration = Self.patience, doubt: Duration = Self.doubt
    ) -> Advice {
        if let begun {
            return now - begun < patience ? .join(until: begun + patience) : .know(.stale(.slow))
        }
        if let last, now - last.time < Self.pause(after: last.verdict, doubt) { return .know(last.verdict) }
        begun = now
        return .ask(until: now + patience)
    }

    /// The question was answered, or will not be.
    mutating func end(_ verdict: Verdict, now: ContinuousClock.Instant) {
        begun = nil
        last = (verdict, now)
    }

    /// What those know whose wait is over.
    var verdict: Verdict { isRunning ? .stale(.slow) : last?.verdict ?? .stale(.slow) }

    private static func pause(after verdict: Verdict, _ doubt: Duration) -> Duration {
        switch verdict {
        case .confirmed, .changed: quiet
        case .stale, .refused: doubt
        }
    }
}
