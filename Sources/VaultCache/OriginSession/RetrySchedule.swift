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
