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
