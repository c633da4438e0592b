import VaultModel

/// When an origin was last heard of: what is known for a while need not be asked again.
final class OriginContact: Sendable {
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
