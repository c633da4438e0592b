import VaultFetch
package import VaultModel

/// A value that decides when a failing origin is asked again.
///
/// All readers of a resource share one schedule, so that many readers burden the origin no more than one does.
package struct RetrySchedule {
    /// What a reader does about a missing byte that no fetch is bringing.
    package enum Advice {
        case ask
        case wait(until: ContinuousClock.Instant)
        case giveUp(FetchFailure)
    }

    let policy: RetryPolicy
    /// The number of consecutive failures without a new byte between them.
    private var failures = 0
    private var last: FetchFailure?
    private var lastTime: ContinuousClock.Instant?
    private var notBefore: ContinuousClock.Instant?
    /// When the origin was first found to be gone; nil if it is not gone.
    private var goneSince: ContinuousClock.Instant?
    /// The times of the failures in the last minute that brought no byte, oldest first.
    private var wasted: [ContinuousClock.Instant] = []
    /// The number of new bytes received since the last failure.
    private var news: Int64 = 0

    package init(_ policy: RetryPolicy = RetryPolicy()) { self.policy = policy }

    /// Whether the last contact with the origin failed. If so, one fetch asks, and the other readers wait for its
    /// result.
    var isFailing: Bool { failures > 0 }

    /// Whether the last contact failed because of the connection.
    var isOfConnection: Bool { isFailing && last?.isOfConnection ?? false }

    /// Records the arrival of bytes that were not present before.
    mutating func received(_ count: Int64) {
        guard count > 0 else { return }
        news += count
        failures = 0
        notBefore = nil
        goneSince = nil
    }

    /// Records that a fetch failed.
    ///
    /// - Parameter chance: a random number from 0 to 1.
    package mutating func failed(_ failure: FetchFailure, now: ContinuousClock.Instant, chance: Double) {
        wasted.removeAll { now - $0 >= .seconds(60) }
        if news == 0 { wasted.append(now) }
        let isTiny = (1..<RetryPolicy.worthwhile).contains(news)
        news = 0
        last = failure
        lastTime = now
        goneSince = RetryPolicy.isGone(failure) ? goneSince ?? now : nil
        guard RetryPolicy.isWorthAnotherTry(failure) else { return }
        failures += 1
        var delay = isTiny ? policy.firstDelay : policy.delay(failures: failures, chance: chance)
        if case .origin(let failure) = failure, case .refused(_, let seconds?) = failure.kind {
            // Clients that received the same `Retry-After` must not all return at the same instant.
            delay = max(delay, .seconds(seconds) + .milliseconds(500) * chance)
        }
        notBefore = max(now + delay, freeAgain(now: now) ?? now)
    }

    /// Returns when the limit on attempts per minute allows the next attempt; nil if it allows one now.
    private func freeAgain(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let recent = wasted.filter { now - $0 < .seconds(60) }
        guard recent.count >= policy.attemptsPerMinute else { return nil }
        return recent[recent.count - policy.attemptsPerMinute] + .seconds(60)
    }

    /// Returns what a reader does about a missing byte.
    ///
    /// - Parameters:
    ///   - failure: why the fetch that the reader waited for failed, if the reader has not been told yet; otherwise
    ///     nil.
    ///   - patience: how long the reader waits for one byte; zero if its answer has not begun.
    ///   - since: when the reader's wait for the failing origin began.
    ///   - isWhole: whether the reader was promised the whole resource, and has no other way to learn that its origin
    ///     is gone.
    package func advice(
        after failure: FetchFailure?, patience: Duration, since: ContinuousClock.Instant, isWhole: Bool = false,
        now: ContinuousClock.Instant
    ) -> Advice {
        if let failure, patience == .zero || !RetryPolicy.isWorthAnotherTry(failure) { return .giveUp(failure) }
        guard patience > .zero else {
            // Once the attempts for this minute are used up, a client that opens again gets the last error.
            guard let last, freeAgain(now: now) != nil else { return .ask }
            return .giveUp(last)
        }
        guard isFailing, let last else { return .ask }
        var end = since + patience
        if isWhole, let goneSince { end = min(end, max(since, goneSince) + policy.goneTimeLimit) }
        if now >= end {
            // Do not report a connection failure from before this reader began to wait, because the origin may be back.
            let isOld = isOfConnection && lastTime.map { $0 < since } ?? false
            return isOld && freeAgain(now: now) == nil ? .ask : .giveUp(last)
        }
        guard let notBefore, notBefore > now else { return .ask }
        return .wait(until: min(notBefore, end))
    }

    /// Returns when an opening stops waiting for a briefly busy origin; nil if the failure is reported at once.
    func openingWait(after failure: FetchFailure) -> ContinuousClock.Instant? {
        RetryPolicy.isBrieflyBusy(failure) ? notBefore : nil
    }
}

/// How long and how often a failing origin is asked again.
///
/// A reader whose answer has not begun is told of a failure at once, unless the origin answered recently and
/// connections to it now fail.
package struct RetryPolicy: Hashable, Sendable {
    /// How long a player whose answer has begun waits for a missing byte.
    package var patience: Duration = .seconds(45)
    /// How long a download waits for a missing byte.
    package var downloadTimeLimit: Duration = .seconds(300)
    /// How long a player waits before its answer has begun, while connections to a recently reachable origin fail.
    package var openingTimeLimit: Duration = .seconds(5)
    /// How long a player that was promised the whole resource waits for an origin that is known to be gone.
    ///
    /// An origin counts as gone if it refuses connections or there is no route to it. If it is merely silent,
    /// ``patience`` applies.
    package var goneTimeLimit: Duration = .seconds(10)
    /// How long an app's own transport may stay silent. The vault's own transport has shorter built-in limits.
    package var silenceLimit: Duration = .seconds(60)
    /// The maximum number of attempts per minute for one resource that bring no byte.
    package var attemptsPerMinute = 30
    /// How long the answer to a range that begins with held bytes is delayed to find out whether its origin is
    /// unreachable.
    ///
    /// A refused connection shows at once, but silence may last.
    package var moment: Duration = .milliseconds(150)
    /// The maximum time for which a stale resource's first byte is delayed to find out whether the resource has
    /// changed.
    package var revalidationTimeLimit: Duration = .seconds(3)
    /// How long a stale resource with gaps is delayed to find out whether the resource has changed.
    package var staleTimeLimit: Duration = .milliseconds(500)
    /// How long to wait for an answer to HEAD, because some origins answer only GET.
    package var headTimeLimit: Duration = .seconds(1)
    /// How long to wait for answers from an origin's other nodes. The answer that raised the question is held up
    /// meanwhile.
    package var probeTimeLimit: Duration = .seconds(2)
    /// The maximum wait before the second retry. Each further retry may wait twice as long, up to `longestDelay`.
    package var firstDelay: Duration = .milliseconds(250)
    package var longestDelay: Duration = .seconds(8)
    /// The maximum wait of a queued download after its first failure. Each further wait may be twice as long, up to
    /// `longestQueueDelay`.
    package var firstQueueDelay: Duration = .seconds(5)
    package var longestQueueDelay: Duration = .seconds(900)

    /// The longest `Retry-After`, in seconds, that readers wait for; a longer one counts as a refusal.
    static let longestRetryAfter = 30
    /// The longest `Retry-After`, in seconds, for which an opening waits once for a busy origin.
    static let longestRetryAfterAtFirst = 3
    /// The fewest bytes that make an attempt worthwhile. After an attempt that brought fewer, the next one waits for
    /// ``firstDelay``.
    ///
    /// A few bytes per request are progress, but they do not justify a flood of requests.
    static let worthwhile: Int64 = 4 << 10

    package init() {}

    /// Returns how long to wait after a number of consecutive failures with no new byte between them.
    ///
    /// The delay is zero after the first failure. After that it is random, below a limit that doubles each time (full
    /// jitter).
    ///
    /// - Parameter chance: a random number from 0 to 1.
    func delay(failures: Int, chance: Double) -> Duration {
        guard failures > 1 else { return .zero }
        return min(longestDelay, firstDelay * (1 << min(failures - 2, 16))) * chance
    }

    /// Returns whether a failure shows that the origin is only briefly busy, so that an opening should wait for it.
    static func isBrieflyBusy(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure, case .refused(let status, let seconds?) = failure.kind else {
            return false
        }
        return [429, 503].contains(status) && seconds <= longestRetryAfterAtFirst
    }

    /// Returns whether a failure shows that the origin is gone rather than temporarily silent.
    static func isGone(_ failure: FetchFailure) -> Bool {
        guard case .origin(let failure) = failure else { return false }
        return failure.kind == .unreachable && failure != .noResponse
    }

    /// Returns whether asking again may help.
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

/// Why a fetch failed, as its readers see it.
package enum FetchFailure: Error, Sendable {
    /// The origin refused, or sent no usable answer. Trying again may help.
    case origin(OriginFailure)
    /// The fetch failed, and trying again would not help.
    case final(VaultError)

    /// Whether an answer broke off after it had begun.
    var isInterruption: Bool {
        if case .origin(let failure) = self { failure.kind == .interrupted } else { false }
    }

    /// Whether the connection failed or the answer broke off, as opposed to the origin refusing the request.
    var isOfConnection: Bool {
        guard case .origin(let failure) = self else { return false }
        return failure.kind == .unreachable || failure.kind == .interrupted
    }

    /// Returns the failure as the library's callers see it.
    package func vaultError(for url: MediaURL, at position: Int64) -> VaultError {
        switch self {
        case .final(let error): return error
        case .origin(let failure):
            var error: VaultError
            switch failure.kind {
            case .unreachable:
                error = VaultError(
                    .unreachable,
                    "\(url.authority) cannot be reached: \(failure.reason); \(failure.remedy ?? "try again later")")
            case .interrupted:
                error = VaultError(
                    .unreachable,
                    "\(url.authority) broke off its answer: \(failure.reason); try again to continue where it stopped")
            case .invalidResponse:
                error = VaultError(
                    .invalidResponse, "\(url.authority) sent an invalid response: \(failure.reason)")
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
