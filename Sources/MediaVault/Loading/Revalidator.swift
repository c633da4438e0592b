import VaultModel

/// Revalidates one resource for all callers that wait for it, each up to its own time limit.
final class Revalidator: Sendable {
    private struct State {
        var revalidation = Revalidation()
        var task: Task<Void, Never>?
        var waiting: [AsyncStream<Never>.Continuation] = []
        var isEnded = false
    }

    private let state = Locked(State())

    /// Whether the origin is being asked.
    var isRunning: Bool { state.withLock { $0.revalidation.isRunning } }

    /// Returns what is known of the representation, or can be found out in time.
    ///
    /// The revalidation continues after the time limit, and later callers get its verdict.
    ///
    /// - Parameters:
    ///   - patience: how long to wait for the answer.
    ///   - inconclusiveLifetime: how long an inconclusive verdict counts before the origin is asked again.
    /// - Returns: the verdict, and whether the origin was asked for it now rather than a moment ago.
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

    /// Ends the revalidation and allows no other; returns when it is over.
    func stop() async {
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

/// When an origin is asked whether it still has a representation: a value.
///
/// All callers share one revalidation, and none waits long for it.
struct Revalidation {
    /// The result of a revalidation.
    enum Verdict: Equatable {
        /// The origin still has it. The status of its answer is 304, or another if the origin ignores conditions.
        case confirmed(status: Int)
        /// The origin has another representation, which has begun.
        case changed
        /// The outcome is unknown. The status is the one in the origin's answer, if there was one.
        case stale(Staleness, status: Int? = nil)
        /// The origin clearly no longer provides it.
        case refused(OriginFailure)
    }

    /// What a caller does to find out.
    enum Advice: Equatable {
        /// Ask, and wait until this time at most.
        case ask(until: ContinuousClock.Instant)
        /// Another caller is asking: wait until this time at most.
        case join(until: ContinuousClock.Instant)
        /// Use this verdict.
        case know(Verdict)
    }

    /// How long a conclusive verdict counts before the origin is asked again: a seeking player asks many times a
    /// second.
    static let quiet: Duration = .seconds(2)
    /// How long any other verdict counts.
    static let inconclusiveLifetime: Duration = .seconds(10)

    private var begun: ContinuousClock.Instant?
    private var last: (verdict: Verdict, time: ContinuousClock.Instant)?

    /// Whether the origin is being asked.
    var isRunning: Bool { begun != nil }

    /// Returns what to do now. A caller that is told to ask must ask.
    ///
    /// - Parameters:
    ///   - patience: how long the caller waits, counted from the start of the revalidation.
    ///   - inconclusiveLifetime: how long an inconclusive verdict counts before the origin is asked again.
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

    /// The verdict for callers whose time limit has passed.
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
    /// Why the representation is served unconfirmed; nil if it is fresh, was confirmed, or was replaced.
    var staleness: Staleness?
    /// The status of the origin's answer; nil if it was not asked, or gave none.
    var originStatus: Int?
}

/// Why a representation is served although its origin did not confirm that it is current.
public enum Staleness: String, Sendable {
    /// The origin did not answer.
    case unreachable
    /// The origin has not answered yet, and a player is not kept waiting for it.
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

/// Whether an origin answered recently: what is known counts for a while before it is asked again.
final class OriginReachability: Sendable {
    private struct Last {
        let isReachable: Bool
        let time: ContinuousClock.Instant
        let answer: ContinuousClock.Instant?
    }

    private let last = Locked<Last?>(nil)
    private let ignoresHead = Locked(false)

    /// How long an answer (`believed`) and a failure (`doubted`) count.
    private static let believed: Duration = .seconds(60)
    static let doubted: Duration = .seconds(5)

    /// Whether HEAD is worth sending: the origin has never left one unanswered.
    var answersHead: Bool { !ignoresHead.withLock(\.self) }

    /// Records that HEAD was left unanswered, so that GET is sent instead.
    func noteSilenceToHead() { ignoresHead.withLock { $0 = true } }

    /// Returns whether the origin answers; nil if that is not known.
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
    /// - Throws: ``TooSlow`` if the time limit passed; the errors of the request.
    func within<Result: Sendable>(
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

    /// The time limit passed.
    struct TooSlow: Error {}
}
