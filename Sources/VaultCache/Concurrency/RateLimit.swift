import VaultModel

/// Limits bytes to a rate by computing how long to wait after some were taken.
package struct RateLimit {
    private let bytesPerSecond: Int64
    /// The moment when all bytes taken so far would have arrived at the permitted rate.
    private var paidUntil: ContinuousClock.Instant

    /// How far back unused rate still counts.
    private static let memory: Duration = .milliseconds(200)

    package init(bytesPerSecond: Int64, now: ContinuousClock.Instant) {
        self.bytesPerSecond = bytesPerSecond
        paidUntil = now
    }

    /// Counts bytes that were taken.
    ///
    /// - Returns: how long to wait before taking more.
    package mutating func take(_ bytes: Int64, now: ContinuousClock.Instant) -> Duration {
        paidUntil = max(paidUntil, now - Self.memory) + .seconds(Double(bytes) / Double(bytesPerSecond))
        return max(.zero, paidUntil - now)
    }
}

/// A rate limit that several takers share. Without a rate, it never delays them.
package final class SharedRateLimit: Sendable {
    private struct State {
        var limit: RateLimit?
        /// The pauses that have begun under the current rate.
        var pauses = NumberedSet<Task<Void, Never>>()
    }

    private let state: Locked<State>
    /// A wider limit, which applies to these bytes too and which other takers share.
    private let wider: SharedRateLimit?

    package init(bytesPerSecond: Int64?, within wider: SharedRateLimit? = nil) {
        state = Locked(State(limit: bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) }))
        self.wider = wider
    }

    /// The number of takers waiting.
    var waiting: Int { state.withLock(\.pauses.all.count) }

    /// Changes the rate and wakes the waiting takers; bytes taken earlier no longer count.
    package func use(bytesPerSecond: Int64?) {
        let pauses = state.withLock { state in
            state.limit = bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) }
            return state.pauses.removeAll()
        }
        for pause in pauses { pause.cancel() }
    }

    /// Counts bytes that were taken, and waits until more may be taken.
    ///
    /// - Throws: `CancellationError`.
    package func take(_ bytes: Int64) async throws {
        // Every limit counts the bytes before the first pause, because that pause counts towards the other limits too.
        var pauses: [(limit: SharedRateLimit, number: Int, task: Task<Void, Never>)] = []
        var next: SharedRateLimit? = self
        while let limit = next {
            if let (number, task) = limit.beginPause(after: bytes) { pauses.append((limit, number, task)) }
            next = limit.wider
        }
        for pause in pauses {
            await withTaskCancellationHandler {
                await pause.task.value
            } onCancel: {
                pause.task.cancel()
            }
            pause.limit.state.withLock { $0.pauses.remove(pause.number) }
        }
        try Task.checkCancellation()
    }

    /// Begins the pause that these bytes require, if any. Changing the rate ends the pause early.
    private func beginPause(after bytes: Int64) -> (number: Int, task: Task<Void, Never>)? {
        state.withLock { state in
            guard let delay = state.limit?.take(bytes, now: .now), delay > .zero else { return nil }
            let task = Task<Void, Never> { try? await Task.sleep(for: delay) }
            return (state.pauses.add(task), task)
        }
    }
}

/// Limits verification to a number of bytes per second. Idle time does not permit a higher rate later.
package struct VerifyPace {
    let bytesPerSecond: Int64
    private var free: ContinuousClock.Instant?

    package init(bytesPerSecond: Int64) { self.bytesPerSecond = bytesPerSecond }

    /// Returns how long to wait after bytes were opened.
    package mutating func delay(after bytes: Int64, now: ContinuousClock.Instant) -> Duration {
        let begin = max(free ?? now, now)
        let end = begin + .seconds(Double(bytes) / Double(bytesPerSecond))
        free = end
        return end - now
    }
}
