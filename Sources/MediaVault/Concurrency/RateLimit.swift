import VaultModel

/// Spreads bytes over time: computes how long to wait after bytes were taken.
struct RateLimit {
    private let bytesPerSecond: Int64
    /// When all bytes taken so far would have arrived at the permitted rate.
    private var paidUntil: ContinuousClock.Instant

    /// Unused rate accumulates for at most this long.
    private static let memory: Duration = .milliseconds(200)

    init(bytesPerSecond: Int64, now: ContinuousClock.Instant) {
        self.bytesPerSecond = bytesPerSecond
        paidUntil = now
    }

    /// Notes that bytes were taken.
    ///
    /// - Returns: how long to wait before taking more.
    mutating func take(_ bytes: Int64, now: ContinuousClock.Instant) -> Duration {
        paidUntil = max(paidUntil, now - Self.memory) + .seconds(Double(bytes) / Double(bytesPerSecond))
        return max(.zero, paidUntil - now)
    }
}

/// A rate limit that several takers share; without a rate it never delays.
final class SharedRateLimit: Sendable {
    private struct State {
        var limit: RateLimit?
        /// The pauses that have begun under this rate.
        var pauses = NumberedSet<Task<Void, Never>>()
    }

    private let state: Locked<State>
    /// A limit that further takers share, too.
    private let wider: SharedRateLimit?

    init(bytesPerSecond: Int64?, within wider: SharedRateLimit? = nil) {
        state = Locked(State(limit: bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) }))
        self.wider = wider
    }

    /// The number of takers that wait.
    var waiting: Int { state.withLock(\.pauses.all.count) }

    /// Changes the rate, at once also for those who wait; what was taken before counts no more.
    func use(bytesPerSecond: Int64?) {
        let pauses = state.withLock { state in
            state.limit = bytesPerSecond.map { RateLimit(bytesPerSecond: $0, now: .now) }
            return state.pauses.removeAll()
        }
        for pause in pauses { pause.cancel() }
    }

    /// Notes that bytes were taken, and waits until more may be.
    ///
    /// - Throws: `CancellationError`.
    func take(_ bytes: Int64) async throws {
        // All limits note the bytes before the first wait, which is part of the others.
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

    /// Begins the pause that bytes make necessary, if any; a new rate ends it.
    private func beginPause(after bytes: Int64) -> (number: Int, task: Task<Void, Never>)? {
        state.withLock { state in
            guard let delay = state.limit?.take(bytes, now: .now), delay > .zero else { return nil }
            let task = Task<Void, Never> { try? await Task.sleep(for: delay) }
            return (state.pauses.add(task), task)
        }
    }
}

/// Limits verification to a number of bytes per second. Idle time is not made up for.
struct VerifyPace {
    let bytesPerSecond: Int64
    private var free: ContinuousClock.Instant?

    init(bytesPerSecond: Int64) { self.bytesPerSecond = bytesPerSecond }

    /// Returns how long to wait after bytes were opened.
    mutating func delay(after bytes: Int64, now: ContinuousClock.Instant) -> Duration {
        let begin = max(free ?? now, now)
        let end = begin + .seconds(Double(bytes) / Double(bytesPerSecond))
        free = end
        return end - now
    }
}
