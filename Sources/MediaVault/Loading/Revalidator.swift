import VaultModel

/// Asks one origin's question for all who wait for it, for as long as each of them can wait.
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

    /// What is known of the representation, or can be found out soon. The question goes on when its time is over: those
    /// who come later have its answer.
    ///
    /// - Parameters:
    ///   - patience: how long is waited for it.
    ///   - doubt: how long what was not found out is not asked again.
    /// - Returns: the verdict, and whether the origin was asked for it now rather than a moment ago.
    /// - Throws: `CancellationError` where the task was cancelled.
    func verdict(
        within patience: Duration, doubt: Duration = Revalidation.doubt,
        by ask: @escaping @Sendable () async -> Revalidation.Verdict
    ) async throws -> (verdict: Revalidation.Verdict, isNew: Bool) {
        let advice = state.withLock { state -> Revalidation.Advice in
            guard !state.isEnded else { return .know(.stale(.unreachable)) }
            let advice = state.revalidation.advice(now: .now, patience: patience, doubt: doubt)
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

    /// Ends the question, and lets no other begin; returns when it is over.
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

/// What an opening found out about a representation that was no longer fresh.
struct RevalidationOutcome: Hashable {
    /// Why it is given although nobody confirmed it; nil where it is fresh, was confirmed, or another has begun.
    var staleness: Staleness?
    /// The status of the origin's answer; nil where it was not asked, or gave none.
    var originStatus: Int?
}

/// Why a representation is given although its origin was not found to have it still.
public enum Staleness: String, Sendable {
    /// The origin did not answer.
    case unreachable
    /// The origin has not answered yet: a player is not kept waiting for it.
    case slow = "timeout"
    /// The origin refused the question.
    case refused
    /// The origin's answer could not be right.
    case invalidResponse = "invalid-answer"
    /// It has neither entity tag nor date to ask by.
    case unverifiable = "no-validator"
    /// The mode forbids to ask.
    case offline
    /// The mode has what is held come first.
    case preferVault = "prefer-vault"

    /// Whether the origin was not to be asked.
    package var isByMode: Bool { self == .offline || self == .preferVault }
}

/// When an origin was last heard of: what is known for a while need not be asked again.
final class OriginReachability: Sendable {
    private struct Last {
        let isReachable: Bool
        let time: ContinuousClock.Instant
        let answer: ContinuousClock.Instant?
    }

    private let last = Locked<Last?>(nil)
    private let ignoresHead = Locked(false)

    /// How long an answer, and a silence, is believed.
    private static let believed: Duration = .seconds(60)
    static let doubted: Duration = .seconds(5)

    /// Whether HEAD is worth asking: it was not left unanswered before.
    var answersHead: Bool { !ignoresHead.withLock(\.self) }

    /// HEAD was left unanswered: GET is asked in its place from now on.
    func noteSilenceToHead() { ignoresHead.withLock { $0 = true } }

    /// Whether the origin answers, where that is known.
    func verdict(now: ContinuousClock.Instant) -> Bool? {
        last.withLock { last in
            guard let last, now - last.time < (last.isReachable ? Self.believed : Self.doubted) else { return nil }
            return last.isReachable
        }
    }

    func note(isReachable: Bool, now: ContinuousClock.Instant) {
        last.withLock { $0 = Last(isReachable: isReachable, time: now, answer: isReachable ? now : $0?.answer) }
    }

    /// Whether the origin answered a moment ago, whatever has been heard of it since.
    func hasAnsweredLately(now: ContinuousClock.Instant) -> Bool {
        last.withLock { $0?.answer.map { now - $0 < Self.believed } ?? false }
    }

    /// Runs a question for at most so long.
    ///
    /// - Throws: ``TooSlow`` when the time is over.
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

    /// The time was over.
    struct TooSlow: Error {}
}
