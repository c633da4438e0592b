import Testing
import VaultFetch
import VaultModel

@testable import VaultCache

/// When a failing origin is asked again, without a socket or the system clock.
@Suite("Retries")
struct RetryTests {
    private let start = ContinuousClock.now
    private let brokeOff = FetchFailure.origin(OriginFailure(.interrupted, "broke off"))

    @Test(
        "The first retry is immediate, and later ones come after a random delay whose limit doubles",
        arguments: [
            (0, 1.0, Duration.zero), (1, 1, .zero), (2, 0, .zero), (2, 1, .milliseconds(250)),
            (2, 0.5, .milliseconds(125)), (3, 1, .milliseconds(500)), (4, 1, .seconds(1)), (7, 1, .seconds(8)),
            (8, 0.25, .seconds(2)), (1000, 1, .seconds(8)), (.max, 1, .seconds(8)),
        ])
    func delay(failures: Int, chance: Double, delay: Duration) {
        #expect(RetryPolicy().delay(failures: failures, chance: chance) == delay)
    }

    @Test(
        "A policy is used within its bounds",
        arguments: [
            (Duration.seconds(-1), -5, Duration.zero, 1), (.zero, 0, .zero, 1), (.seconds(9), 1000, .seconds(9), 1000),
            (.seconds(86_401), 1001, .seconds(86_400), 1000), (.seconds(Int64.max), .max, .seconds(86_400), 1000),
        ])
    func bounds(duration: Duration, attempts: Int, usedDuration: Duration, usedAttempts: Int) {
        var policy = RetryPolicy()
        let durations: [WritableKeyPath<RetryPolicy, Duration>] = [
            \.patience, \.downloadTimeLimit, \.openingTimeLimit, \.goneTimeLimit, \.silenceLimit, \.firstDelay,
            \.longestDelay, \.firstQueueDelay, \.longestQueueDelay,
        ]
        for path in durations { policy[keyPath: path] = duration }
        policy.attemptsPerMinute = attempts
        let used = policy.bounded
        #expect(durations.allSatisfy { used[keyPath: $0] == usedDuration })
        #expect(used.attemptsPerMinute == usedAttempts && used.bounded == used)
        #expect(RetryPolicy().bounded == RetryPolicy())
    }

    @Test(
        "Only failures that may be temporary are retried",
        arguments: [
            (.interrupted, true), (.unreachable, true), (.invalidResponse, false),
            (.refused(status: 404, retryAfter: nil), false),
            (.refused(status: 403, retryAfter: 1), false), (.refused(status: 429, retryAfter: nil), true),
            (.refused(status: 429, retryAfter: 30), true), (.refused(status: 429, retryAfter: 31), false),
            (.refused(status: 503, retryAfter: 0), true), (.refused(status: 500, retryAfter: nil), true),
            (.refused(status: 451, retryAfter: nil), false), (.refused(status: 416, retryAfter: nil), false),
        ] as [(OriginFailure.Kind, Bool)])
    func worth(kind: OriginFailure.Kind, isWorth: Bool) {
        #expect(RetryPolicy.isWorthAnotherTry(.origin(OriginFailure(kind, "reason"))) == isWorth)
    }

    private func waits(_ advice: RetrySchedule.Advice, until time: ContinuousClock.Instant) -> Bool {
        if case .wait(let until) = advice { until == time } else { false }
    }
    private func asks(_ advice: RetrySchedule.Advice) -> Bool { if case .ask = advice { true } else { false } }
    private func givesUp(_ advice: RetrySchedule.Advice) -> Bool { if case .giveUp = advice { true } else { false } }

    @Test("An active reader waits until its time limit, and one that is still opening does not wait")
    func patience() {
        var schedule = RetrySchedule()
        for _ in 0..<3 { schedule.failed(brokeOff, now: start, chance: 1) }
        func advice(_ patience: Duration, _ now: Duration, _ failure: FetchFailure? = nil) -> RetrySchedule.Advice {
            schedule.advice(after: failure, patience: patience, since: start, now: start + now)
        }
        #expect(waits(advice(.seconds(45), .zero), until: start + .milliseconds(500)))
        #expect(asks(advice(.seconds(45), .milliseconds(500), brokeOff)))
        #expect(waits(advice(.milliseconds(300), .zero), until: start + .milliseconds(300)))
        #expect(givesUp(advice(.seconds(45), .seconds(45))))
        #expect(givesUp(advice(.zero, .zero, brokeOff)))
        #expect(asks(advice(.zero, .zero)), "an opening reader may send its own request")
    }

    @Test("A reader whose time limit ends before the next retry tries once itself, since the origin may be back")
    func ownTry() {
        var schedule = RetrySchedule()
        let gone = FetchFailure.origin(.noResponse)
        for _ in 0..<9 { schedule.failed(gone, now: start, chance: 1) }
        let since = start + .seconds(1)
        func advice(_ now: ContinuousClock.Instant) -> RetrySchedule.Advice {
            schedule.advice(after: nil, patience: .seconds(5), since: since, now: now)
        }
        #expect(waits(advice(since), until: since + .seconds(5)))
        #expect(asks(advice(since + .seconds(5))))
        schedule.failed(gone, now: since + .seconds(5), chance: 1)
        #expect(givesUp(advice(since + .seconds(5))), "the reader got the failure")
        for _ in 0..<30 { schedule.failed(gone, now: start + .milliseconds(500), chance: 1) }
        #expect(givesUp(advice(since + .seconds(5))), "no retry is left")
    }

    @Test("A reader waits for Retry-After and a little longer")
    func retryAfter() {
        var schedule = RetrySchedule()
        schedule.failed(
            .origin(OriginFailure(.refused(status: 503, retryAfter: 7), "busy")), now: start, chance: 0.5)
        let advice = schedule.advice(after: nil, patience: .seconds(45), since: start, now: start)
        #expect(waits(advice, until: start + .milliseconds(7250)))
    }

    @Test("New bytes reset the schedule, and the next failure counts as the first")
    func recovered() {
        var schedule = RetrySchedule()
        for _ in 0..<5 { schedule.failed(brokeOff, now: start, chance: 1) }
        schedule.received(RetryPolicy.worthwhile)
        #expect(!schedule.isFailing)
        #expect(asks(schedule.advice(after: nil, patience: .seconds(45), since: start, now: start)))
        schedule.failed(brokeOff, now: start, chance: 1)
        #expect(asks(schedule.advice(after: brokeOff, patience: .seconds(45), since: start, now: start)))
    }

    @Test("The number of fruitless tries in a minute is limited for all readers together")
    func noStorm() {
        var schedule = RetrySchedule()
        for second in 0..<30 {
            schedule.failed(brokeOff, now: start + .seconds(second), chance: 0)
        }
        let now = start + .seconds(29)
        let begun = schedule.advice(after: brokeOff, patience: .seconds(300), since: now, now: now)
        #expect(waits(begun, until: start + .seconds(60)), "the oldest try is then a minute old")
        #expect(givesUp(schedule.advice(after: nil, patience: .zero, since: now, now: now)))
        let later = start + .seconds(60)
        #expect(asks(schedule.advice(after: nil, patience: .zero, since: later, now: later)))
    }

    @Test(
        "A try that brought bytes does not count: a connection that breaks every few KB is retried at once",
        arguments: [RetryPolicy.worthwhile, 100_000, 256_000, 1 << 30])
    func progress(bytes: Int64) {
        var schedule = RetrySchedule()
        for _ in 0..<100 {
            schedule.received(bytes)
            schedule.failed(brokeOff, now: start, chance: 1)
            #expect(asks(schedule.advice(after: brokeOff, patience: .seconds(45), since: start, now: start)))
        }
    }

    @Test("A try that brought less than a block does not count either, but the next one is delayed")
    func meagre() {
        var schedule = RetrySchedule()
        var now = start
        for _ in 0..<100 {
            schedule.received(1)
            schedule.failed(brokeOff, now: now, chance: 0)
            let advice = schedule.advice(after: nil, patience: .seconds(45), since: now, now: now)
            now += RetryPolicy().firstDelay
            #expect(waits(advice, until: now))
            #expect(asks(schedule.advice(after: nil, patience: .seconds(45), since: now, now: now)))
        }
    }

    @Test(
        "A reader of a whole resource waits ten seconds for an unreachable origin, and as usual for a silent one",
        arguments: [
            (OriginFailure(.unreachable, "connection refused"), true, 10),
            (OriginFailure(.unreachable, "no connection"), true, 10),
            (OriginFailure(.unreachable, "connection refused"), false, 45), (.noResponse, true, 45),
            (OriginFailure(.interrupted, "silent for too long"), true, 45),
        ] as [(OriginFailure, Bool, Int)])
    func gone(failure: OriginFailure, isWhole: Bool, seconds: Int) {
        var schedule = RetrySchedule()
        schedule.failed(.origin(failure), now: start, chance: 1)
        func advice(_ after: Duration) -> RetrySchedule.Advice {
            schedule.advice(
                after: nil, patience: .seconds(45), since: start, isWhole: isWhole, now: start + after)
        }
        #expect(!givesUp(advice(.seconds(seconds) - .milliseconds(1))) && givesUp(advice(.seconds(seconds))))
        // The wait is no longer than that, even if the next try would be later.
        for second in 1..<9 { schedule.failed(.origin(failure), now: start + .seconds(second), chance: 1) }
        if seconds == 10 { #expect(waits(advice(.seconds(9)), until: start + .seconds(10))) }
    }

    @Test("If a silent origin becomes unreachable, the ten seconds start at that moment")
    func goneLater() {
        var schedule = RetrySchedule()
        schedule.failed(.origin(.noResponse), now: start + .seconds(20), chance: 0)
        schedule.failed(.origin(OriginFailure(.unreachable, "refused")), now: start + .seconds(21), chance: 0)
        func advice(_ after: Duration) -> RetrySchedule.Advice {
            schedule.advice(after: nil, patience: .seconds(45), since: start, isWhole: true, now: start + after)
        }
        #expect(!givesUp(advice(.seconds(30))) && givesUp(advice(.seconds(31))))
        schedule.received(1)
        schedule.failed(brokeOff, now: start + .seconds(40), chance: 0)
        #expect(!givesUp(advice(.seconds(44))), "the origin is back")
    }

    // MARK: In the loader

    private func state() -> LoaderState {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(length: 10_000_000, type: nil, validators: Validators(), supportsRanges: true))
        return state
    }

    private func reader(_ state: inout LoaderState, at position: Int64) -> ReaderState.ID {
        let reader = state.addReader(position..<10_000_000)
        state.begin(reader, isDownload: false)
        return reader
    }

    @Test("Readers of one gap share one schedule, and only one of them sends a request")
    func shared() {
        var state = state()
        let readers = (0..<8).map { _ in reader(&state, at: 0) }
        var now = start
        for _ in 0..<6 {
            var fetches: [FetchState.ID] = []
            for reader in readers {
                if case (.fetch(let id), _) = state.step(reader, now: now) { fetches.append(id) }
            }
            #expect(fetches.count == 1)
            guard let fetch = fetches.first else { return }
            _ = state.receiverEnded(fetch, brokeOff, now: now, chance: 1)
            _ = state.remove(fetch)
            // All readers get the same time.
            var times: Set<ContinuousClock.Instant> = []
            for reader in readers {
                let (_, effects) = state.step(reader, now: now - .milliseconds(1))
                for alarm in effects.alarms { times.insert(alarm.time) }
            }
            #expect(times.count <= 1)
            now = times.first ?? now
        }
    }

    @Test("While an origin is failing, one reader tries for all, whatever gap each of them reads")
    func oneAsks() {
        var state = state()
        let (near, far) = (reader(&state, at: 0), reader(&state, at: 9_000_000))
        guard case (.fetch(let first), _) = state.step(near, now: start),
            case (.fetch(let second), _) = state.step(far, now: start)
        else {
            Issue.record("each reader must start a fetch for its own gap")
            return
        }
        for fetch in [first, second] {
            _ = state.receiverEnded(fetch, brokeOff, now: start, chance: 1)
            _ = state.remove(fetch)
        }
        let later = start + .seconds(1)
        guard case (.fetch(let probe), _) = state.step(far, now: later),
            case (.wait, let effects) = state.step(near, now: later)
        else {
            Issue.record("one reader must start a fetch, and the other must wait")
            return
        }
        #expect(effects.alarms.isEmpty)
        // The answer's head is valid, so the other reader may fetch its own gap.
        _ = state.accept(probe, end: 10_000_000, fromZero: false)
        guard case (.fetch, _) = state.step(near, now: later) else {
            Issue.record("the reader that waited must start a fetch")
            return
        }
    }

    @Test("A transfer that was dropped while its readers paused is not a failure, and resumes at once")
    func dropped() {
        var state = state()
        let reader = reader(&state, at: 0)
        guard case (.fetch(let fetch), _) = state.step(reader, now: start) else {
            Issue.record("the reader must start a fetch")
            return
        }
        _ = state.accept(fetch, end: 10_000_000, fromZero: false)
        while state.fetches.mayReceive(fetch, now: start) == true {
            _ = state.received([UInt8](repeating: 7, count: 64 << 10), by: fetch, now: start)
        }
        let present = state.fetches[fetch]?.present ?? 0
        _ = state.advance(reader, to: present)
        #expect(state.fetches.mayReceive(fetch, now: start + .seconds(9)) == true)
        _ = state.receiverEnded(fetch, brokeOff, now: start + .seconds(9), chance: 1)
        #expect(!state.retry.isFailing)
        guard case (.fetch(let next), _) = state.step(reader, now: start + .seconds(9)) else {
            Issue.record("the reader tries again")
            return
        }
        #expect(state.fetches[next]?.start == present)
    }

    @Test(
        "An opening reader waits once for an origin that is busy for at most three seconds, and gets any other refusal",
        arguments: [
            (429, 3, true), (503, 1, true), (503, 0, true), (503, 4, false), (500, 1, false), (429, nil, false),
        ] as [(Int, Int?, Bool)])
    func busyAtFirst(status: Int, retryAfter: Int?, isWaitedFor: Bool) {
        var state = state()
        let reader = state.addReader(0..<10_000_000)
        let busy = FetchFailure.origin(OriginFailure(.refused(status: status, retryAfter: retryAfter), "busy"))
        func fails(at now: ContinuousClock.Instant) -> Bool {
            guard case (.fetch(let fetch), _) = state.step(reader, now: now) else { return false }
            _ = state.receiverEnded(fetch, busy, now: now, chance: 0)
            return true
        }
        #expect(fails(at: start))
        let (step, effects) = state.step(reader, now: start)
        guard isWaitedFor, let seconds = retryAfter else {
            guard case .failed = step else {
                Issue.record("the reader must get the error at once")
                return
            }
            return
        }
        let time = start + .seconds(seconds)
        if seconds > 0 {
            #expect(effects.alarms.map(\.time) == [time])
            // Woken for another reason, the reader keeps waiting.
            guard case (.wait, _) = state.step(reader, now: time - .milliseconds(1)) else {
                Issue.record("the reader must keep waiting")
                return
            }
            #expect(fails(at: time), "the reader tries again")
        } else if case .fetch(let fetch) = step {
            _ = state.receiverEnded(fetch, busy, now: start, chance: 0)
        }
        guard case (.failed, _) = state.step(reader, now: time) else {
            Issue.record("the reader must wait only once")
            return
        }
    }

    @Test("A signal wakes every task that waits for it")
    func signal() async throws {
        let loader = SignalBox()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { await loader.wait() } }
            defer { loader.raise() }
            try await loader.untilWaiting(3)
        }
    }
}
