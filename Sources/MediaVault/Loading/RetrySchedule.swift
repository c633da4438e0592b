import VaultModel

/// When an origin that fails is asked again: one schedule for all readers of a resource, so that many readers are no more
/// trouble to it than one. A value.
struct RetrySchedule {
    /// What a reader does that misses a byte which nobody fetches.
    enum Advice {
        case ask
        case wait(until: ContinuousClock.Instant)
        case giveUp(FetchFailure)
    }

    let policy: RetryPolicy
    /// Failures in a row without a new byte between them.
    private var failures = 0
    private var last: FetchFailure?
    private var lastTime: ContinuousClock.Instant?
    private var notBefore: ContinuousClock.Instant?
    /// Since when the origin has been gone; nil while it is not.
    private var goneSince: ContinuousClock.Instant?
    /// The failures of the last minute that nothing came of, the oldest first.
    private var wasted: [ContinuousClock.Instant] = []
    /// New bytes since the last failure.
    private var news: Int64 = 0

    init(_ policy: RetryPolicy = RetryPolicy()) { self.policy = policy }

    /// Whether the last that was heard of the origin is a failure. Then one asks, and the others wait for what it hears.
    var isInTrouble: Bool { failures > 0 }

    /// Whether that was a connection which failed.
    var isOfConnection: Bool { isInTrouble && last?.isOfConnection ?? false }

    /// Bytes came that nobody had.
    mutating func received(_ count: Int64) {
        guard count > 0 else { return }
        news += count
        failures = 0
        notBefore = nil
        goneSince = nil
    }

    /// A fetch failed.
    ///
    /// - Parameter chance: from 0 to 1.
    mutating func failed(_ failure: FetchFailure, now: ContinuousClock.Instant, chance: Double) {
        wasted.removeAll { now - $0 >= .seconds(60) }
        if news == 0 { wasted.append(now) }
        let isMeagre = (1..<RetryPolicy.worthwhile).contains(news)
        news = 0
        last = failure
        lastTime = now
        goneSince = RetryPolicy.isGone(failure) ? goneSince ?? now : nil
        guard RetryPolicy.isWorthAnotherTry(failure) else { return }
        failures += 1
        var delay = isMeagre ? policy.firstDelay : policy.delay(failures: failures, chance: chance)
        if case .origin(let failure) = failure, case .refused(_, let seconds?) = failure.kind {
            // Not all who were told the same time come back in the same instant.
            delay = max(delay, .seconds(seconds) + .milliseconds(500) * chance)
        }
        notBefore = max(now + delay, freeAgain(now: now) ?? now)
    }

    /// When a try is free again; nil where one is.
    private func freeAgain(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let recent = wasted.filter { now - $0 < .seconds(60) }
        guard recent.count >= policy.triesPerMinute else { return nil }
        return recent[recent.count - policy.triesPerMinute] + .seconds(60)
    }

    /// What a reader does that misses a byte.
    ///
    /// - Parameters:
    ///   - failure: what the fetch that it waited for ended with, where it has not been told.
    ///   - patience: how long it waits for one byte; nothing where it has not begun.
    ///   - since: when its troubles began.
    ///   - isWhole: whether it was promised everything, and has no other way to learn that its origin is gone.
    func advice(
        after failure: FetchFailure?, patience: Duration, since: ContinuousClock.Instant, isWhole: Bool = false,
        now: ContinuousClock.Instant
    ) -> Advice {
        if let failure, patience == .zero || !RetryPolicy.isWorthAnotherTry(failure) { return .giveUp(failure) }
        guard patience > .zero else {
            // Whoever opens again and again is told what the others were told.
            guard let last, freeAgain(now: now) != nil else { return .ask }
            return .giveUp(last)
        }
        guard isInTrouble, let last else { return .ask }
        var end = since + patience
        if isWhole, let goneSince { end = min(end, max(since, goneSince) + policy.patienceWithGone) }
        if now >= end {
            // Nobody is told of a connection that failed before its own troubles began: the origin may be back since.
            let isOld = isOfConnection && lastTime.map { $0 < since } ?? false
            return isOld && freeAgain(now: now) == nil ? .ask : .giveUp(last)
        }
        guard let notBefore, notBefore > now else { return .ask }
        return .wait(until: min(notBefore, end))
    }

    /// Until when who opens a title waits for an origin that said it was busy for a moment; nil where it is told at once.
    func waitAtFirst(after failure: FetchFailure) -> ContinuousClock.Instant? {
        RetryPolicy.isBusyForAMoment(failure) ? notBefore : nil
    }
}
