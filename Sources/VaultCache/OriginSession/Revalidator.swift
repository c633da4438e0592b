import VaultModel

/// Revalidates one resource on behalf of all callers that wait for it, each up to its own time limit.
package final class Revalidator: Sendable {
    private struct State {
        var revalidation = Revalidation()
        var task: Task<Void, Never>?
        var waiting: [AsyncStream<Never>.Continuation] = []
        var isEnded = false
    }

    private let state = Locked(State())

    /// Whether the origin is being asked.
    var isRunning: Bool { state.withLock { $0.revalidation.isRunning } }

    /// Returns the known verdict on the representation, or one that is obtained in time.
    ///
    /// If the time limit passes, the revalidation continues, and later callers get its verdict.
    ///
    /// - Parameters:
    ///   - patience: how long to wait for the answer.
    ///   - inconclusiveLifetime: how long an inconclusive verdict is reused before the origin is asked again.
    /// - Returns: the verdict, and whether this call waited for it rather than reusing an earlier one.
    /// - Throws: `CancellationError` if the task was cancelled.
    func verdict(
        within patience: Duration, inconclusiveLifetime: Duration = Revalidation.inconclusiveLifetime,
        by ask: @escaping @Sendable () async -> Revalidation.Verdict
    ) async throws -> (verdict: Revalidation.Verdict, isNew: Bool) {
        let advice = state.withLock { state -> Revalidation.Advice in
            guard !state.isEnded else { return .know(.stale(.unreachable)) }
            let advice = state.revalidation.advice(
                now: .now, patience: patience, inconclusiveLifetime: inconclusiveLifetime)
            if case .ask = advice { state.task = Task { [self] in end(await ask()) } }
            return advice
        }
        switch advice {
        case .know(let verdict): return (verdict, false)
        case .ask(let time), .join(let time): await wait(until: time)
        }
        try Task.checkCancellation()
        return (state.withLock { $0.revalidation.verdict }, true)
    }

    /// Cancels the revalidation and allows no new one; returns when it has ended.
    package func stop() async {
        let task = state.withLock { state in
            state.isEnded = true
            return state.task
        }
        task?.cancel()
        await task?.value
    }

    private func end(_ verdict: Revalidation.Verdict) {
        let waiting = state.withLock { state in
            state.revalidation.end(verdict, now: .now)
            state.task = nil
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }

    private func wait(until time: ContinuousClock.Instant) async {
        let (end, ends) = AsyncStream.makeStream(of: Never.self)
        let isRunning = state.withLock { state in
            if state.revalidation.isRunning { state.waiting.append(ends) }
            return state.revalidation.isRunning
        }
        guard isRunning else { return }
        let alarm = Task {
            try? await Task.sleep(until: time)
            ends.finish()
        }
        defer { alarm.cancel() }
        for await _ in end {}
    }
}

/// A value that decides when an origin is asked whether it still has a representation.
///
/// All callers share one revalidation, and none waits long for it.
struct Revalidation {
    /// The result of a revalidation.
    enum Verdict: Equatable {
        /// The origin still has the representation. Its answer has status 304, or another one if the origin ignores
        /// conditions.
        case confirmed(status: Int)
        /// The origin has another representation, which the loader has begun to load.
        case changed
        /// The outcome is unknown, for this reason. The status is that of the origin's answer, if there was one.
        case stale(Staleness, status: Int? = nil)
        /// The origin refused, and trying again would not help.
        case refused(OriginFailure)
    }

    /// What a caller does to obtain a verdict.
    enum Advice: Equatable {
        /// Ask the origin, and wait until this time at most.
        case ask(until: ContinuousClock.Instant)
        /// Another caller is already asking; wait until this time at most.
        case join(until: ContinuousClock.Instant)
        /// Use this verdict.
        case know(Verdict)
    }

    /// How long a conclusive verdict is reused before the origin is asked again, because a seeking player asks many
    /// times a second.
    static let quiet: Duration = .seconds(2)
    /// How long any other verdict is reused.
    static let inconclusiveLifetime: Duration = .seconds(10)

    private var begun: ContinuousClock.Instant?
    private var last: (verdict: Verdict, time: ContinuousClock.Instant)?

    /// Whether the origin is being asked.
    var isRunning: Bool { begun != nil }

    /// Returns what a caller does now. A caller that is told to ask must ask.
    ///
    /// - Parameters:
    ///   - patience: how long the caller waits, counted from the start of the revalidation.
    ///   - inconclusiveLifetime: how long an inconclusive verdict is reused before the origin is asked again.
    mutating func advice(
        now: ContinuousClock.Instant, patience: Duration,
        inconclusiveLifetime: Duration = Self.inconclusiveLifetime
    ) -> Advice {
        if let begun {
            return now - begun < patience ? .join(until: begun + patience) : .know(.stale(.slow))
        }
        if let last, now - last.time < Self.pause(after: last.verdict, inconclusiveLifetime) {
            return .know(last.verdict)
        }
        begun = now
        return .ask(until: now + patience)
    }

    /// Records the verdict.
    mutating func end(_ verdict: Verdict, now: ContinuousClock.Instant) {
        begun = nil
        last = (verdict, now)
    }

    /// The verdict for a caller that has finished waiting: ``Staleness/slow`` while the origin is still being asked.
    var verdict: Verdict { isRunning ? .stale(.slow) : last?.verdict ?? .stale(.slow) }

    private static func pause(after verdict: Verdict, _ inconclusiveLifetime: Duration) -> Duration {
        switch verdict {
        case .confirmed, .changed: quiet
        case .stale, .refused: inconclusiveLifetime
        }
    }
}

/// What an opening found out about a stale representation.
struct RevalidationOutcome: Hashable {
    /// Why the representation is served unconfirmed; nil if it is fresh, was confirmed or replaced, or is about to be
    /// checked by a fetch.
    var staleness: Staleness?
    /// The status of the origin's answer; nil if the origin was not asked just now, or did not answer.
    var originStatus: Int?
}

/// Why a representation is served although its origin did not confirm that it is current.
public enum Staleness: String, Sendable {
    /// The origin did not answer.
    case unreachable
    /// The origin has not answered yet, and the player is not kept waiting any longer.
    case slow = "timeout"
    /// The origin refused the request.
    case refused
    /// The origin's answer was invalid.
    case invalidResponse = "invalid-answer"
    /// The representation has neither an entity tag nor a modification date to revalidate with.
    case unverifiable = "no-validator"
    /// The mode forbids requests to the origin.
    case offline
    /// The mode prefers held bytes.
    case preferVault = "prefer-vault"

    /// Whether the mode prevented a request to the origin.
    package var isByMode: Bool { self == .offline || self == .preferVault }
}

/// Remembers for a while whether an origin answered, so that it is not asked again too soon.
package final class OriginReachability: Sendable {
    private struct Last {
        let isReachable: Bool
        let time: ContinuousClock.Instant
        let answer: ContinuousClock.Instant?
    }

    private let last = Locked<Last?>(nil)
    private let ignoresHead = Locked(false)

    /// How long the last answer (`believed`) or failure (`doubted`) counts.
    private static let believed: Duration = .seconds(60)
    static let doubted: Duration = .seconds(5)

    /// Whether HEAD is worth sending, because the origin has never left a HEAD request unanswered.
    var answersHead: Bool { !ignoresHead.withLock(\.self) }

    /// Records that the origin left HEAD unanswered, so that GET is sent from now on.
    func noteSilenceToHead() { ignoresHead.withLock { $0 = true } }

    /// Returns whether the origin is reachable; nil if that is not known.
    func verdict(now: ContinuousClock.Instant) -> Bool? {
        last.withLock { last in
            guard let last, now - last.time < (last.isReachable ? Self.believed : Self.doubted) else { return nil }
            return last.isReachable
        }
    }

    func note(isReachable: Bool, now: ContinuousClock.Instant) {
        last.withLock { $0 = Last(isReachable: isReachable, time: now, answer: isReachable ? now : $0?.answer) }
    }

    /// Returns whether the origin answered recently, even if it has failed since.
    func hasAnsweredLately(now: ContinuousClock.Instant) -> Bool {
        last.withLock { $0?.answer.map { now - $0 < Self.believed } ?? false }
    }

    /// Runs a request with a time limit.
    ///
    /// - Throws: ``TooSlow`` if the time limit passed, or the request's own errors.
    package func within<Result: Sendable>(
        _ limit: Duration, _ question: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await question() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw TooSlow()
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw TooSlow() }
            return first
        }
    }

    /// The error thrown when the time limit has passed.
    package struct TooSlow: Error {}
}
