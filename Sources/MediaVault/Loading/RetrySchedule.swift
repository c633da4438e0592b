import VaultFetch
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

/// How long, and how often, an origin that fails is asked again. Readers that have not begun are told at once, unless the
/// origin answered lately and its connection fails.
package struct RetryPolicy: Hashable, Sendable {
    /// How long a player that has begun waits for a byte that does not come.
    package var patience: Duration = .seconds(45)
    /// The same for a download.
    package var downloadPatience: Duration = .seconds(300)
    /// The same for a player that has no answer yet, of an origin that answered lately, while connections to it fail.
    package var openingPatience: Duration = .seconds(5)
    /// How long a player that was promised everything waits where its origin is known to be gone: connections are refused,
    /// or nothing leads there. A line that is merely silent is waited for as ``patience`` says.
    package var patienceWithGone: Duration = .seconds(10)
    /// How often one resource is asked for within a minute without a byte coming of it.
    package var triesPerMinute = 30
    /// How long a range that begins with held bytes is held up for the word that its origin is out of reach: refusals come
    /// at once, silence may last.
    package var moment: Duration = .milliseconds(150)
    /// How long one that is stale is held up for the word that it has changed.
    package var shortPatience: Duration = .milliseconds(500)
    /// How long an answer to HEAD is waited for: some origins answer GET alone.
    package var headPatience: Duration = .seconds(1)
    /// The second try waits so long at most, and each further one twice as long.
    package var firstDelay: Duration = .milliseconds(250)
    package var longestDelay: Duration = .seconds(8)

    /// A longer `Retry-After` is a refusal.
    static let longestRetryAfter = 30
    /// A busy origin that names a shorter time is waited for once before a player that opens a title is told.
    static let longestRetryAfterAtFirst = 3
    /// After a try that brought less than a block the next one waits as long as a second one: a few bytes for each question
    /// are progress, but not worth a flood of questions.
    static let worthwhile: Int64 = 4 << 10

    package init() {}

    /// How long to wait after so many failures in a row without a byte between them: nothing after the first, then full
    /// jitter under a limit that doubles.
    ///
    /// - Parameter chance: from 0 to 1.
    func delay(failures: Int, chance: Double) -> Duration {
        guard failures > 1 else { return .zero }
        return min(longestDelay, firstDelay * (1 << min(failures - 2, 16))) * chance
    }

    /// Whether a failure says that the origin is busy for a moment, and who opens a title had better wait for it.
    static func isBusyForAMoment(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure, case .refused(let status, let seconds?) = failure.kind else {
            return false
        }
        return [429, 503].contains(status) && seconds <= longestRetryAfterAtFirst
    }

    /// Whether a failure says that the origin is not there: it is no silence that may end.
    static func isGone(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure else { return false }
        return failure.kind == .unreachable && failure != .noAnswer
    }

    /// Whether asking again may help.
    static func isWorthAnotherTry(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure else { return false }
        switch failure.kind {
        case .invalidResponse: return false
        case .unreachable, .interrupted: return true
        case .refused(let status, let retryAfter):
            return [408, 429, 500, 502, 503, 504].contains(status) && retryAfter ?? 0 <= longestRetryAfter
        }
    }
}

/// What a fetch ended with, as its readers see it.
enum FetchFailure: Error, Sendable {
    /// The origin gave no answer, or no whole one: trying again may help.
    case origin(OriginFailure)
    /// Something that trying again does not mend.
    case final(VaultError)

    /// Whether an answer that had begun broke off.
    var isInterruption: Bool {
        if case .origin(let failure) = self { failure.kind == .interrupted } else { false }
    }

    /// Whether the connection failed, or an answer that had begun broke off: no word of the origin's.
    var isOfConnection: Bool {
        guard case .origin(let failure) = self else { return false }
        return failure.kind == .unreachable || failure.kind == .interrupted
    }

    /// The failure as the library's callers see it.
    func vaultError(for url: MediaURL, at position: Int64) -> VaultError {
        switch self {
        case .final(let error): return error
        case .origin(let failure):
            var error: VaultError
            switch failure.kind {
            case .unreachable:
                error = VaultError(
                    .unreachable, "\(url.authority) cannot be reached: \(failure.reason); try again later")
            case .interrupted:
                error = VaultError(
                    .unreachable,
                    "\(url.authority) broke off its answer: \(failure.reason); try again, it goes on where it stopped")
            case .invalidResponse:
                error = VaultError(.invalidResponse, "\(url.authority) gave an answer that cannot be used: \(failure.reason)")
            case .refused(let status, let retryAfter):
                error = VaultError(.refused, "\(url.authority) refused \(url.path): \(failure.reason)")
                error.originStatus = status
                error.retryAfter = retryAfter
            }
            error.firstMissing = position
            return error
        }
    }
}
