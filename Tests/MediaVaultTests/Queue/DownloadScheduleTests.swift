import Testing
import VaultModel

@testable import MediaVault

@Suite("The schedule of the download queue")
struct DownloadScheduleTests {
    /// A queue in words: a host for each entry, `!` if it is not waiting, and `@` with the second it waits for.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let queue: [String]
        var running: [Int] = []
        var ending: [Int] = []
        var slow: [Int] = []
        var parallel = 3
        var perHost = 2
        var hours: String?
        var second = 0
        var leastRate: Int64 = 0
        var start: [Int] = []
        var stop: Set<Int> = []
        var giveWay: Set<Int> = []
        var next: Int64?

        var testDescription: String { name }
    }

    static let now: Int64 = 1_700_000_000

    static let cases = [
        Case(name: "an empty queue does nothing", queue: []),
        Case(name: "as many start as may run", queue: ["a", "b", "c", "d"], start: [0, 1, 2]),
        Case(
            name: "a host has its own bound, and later ones of others go before", queue: ["a", "a", "a", "b"],
            start: [0, 1, 3]),
        Case(
            name: "what runs counts for both bounds", queue: ["a", "a", "b", "c"], running: [0, 2], perHost: 1,
            start: [3]),
        Case(name: "paused and failed ones are passed over", queue: ["a!", "b", "c!", "d"], start: [1, 3]),
        Case(name: "one that waits for a time is passed over until then", queue: ["a@7", "b"], start: [1], next: 7),
        Case(name: "the earliest time counts", queue: ["a@70", "b@30", "c@50"], next: 30),
        Case(name: "a time that has come is no reason to wait", queue: ["a@0", "b@-5"], start: [0, 1]),
        Case(name: "a far time is looked at again earlier, because clocks are set", queue: ["a@5000"], next: 600),
        Case(name: "a clock that was set back holds up nothing", queue: ["a@90000"], start: [0]),
        Case(name: "a full queue needs no time", queue: ["a", "b@9"], running: [0], parallel: 1),
        Case(
            name: "outside its hours nothing starts and what runs stops", queue: ["a", "b"], running: [0],
            hours: "01:00-06:00",
            second: 0, stop: [0], next: 600),
        Case(
            name: "what is ending is not stopped twice", queue: ["a", "b"], running: [0, 1], ending: [1],
            hours: "01:00-06:00",
            second: 3000, stop: [0], next: 600),
        Case(
            name: "within its hours it runs, and decides again at their end", queue: ["a"], hours: "01:00-06:00",
            second: 21_570, start: [0], next: 30),
        Case(name: "hours over midnight", queue: ["a"], hours: "23:00-01:00", second: 1800, start: [0], next: 600),
        Case(
            name: "a lower bound stops those that are last", queue: ["a", "b", "c"], running: [0, 1, 2], parallel: 1,
            stop: [1, 2]),
        Case(
            name: "a lower bound of a host stops those that are last", queue: ["a", "a", "b"], running: [0, 1, 2],
            perHost: 1, stop: [1]),
        Case(
            name: "what is ending still takes its place", queue: ["a", "a", "b"], running: [0], ending: [0], parallel: 1
        ),
        Case(name: "what was moved to the front stops nothing", queue: ["a", "b", "c"], running: [1, 2], parallel: 2),
        Case(
            name: "what is too slow gives its place to one that waits", queue: ["a", "b", "c"], running: [0, 1],
            slow: [0], parallel: 2, leastRate: 1, giveWay: [0], next: 60),
        Case(
            name: "the last of several gives its place", queue: ["a", "b", "c"], running: [0, 1], slow: [0, 1],
            parallel: 2, leastRate: 1, giveWay: [1], next: 60),
        Case(
            name: "as many give their places as wait", queue: ["a", "b", "c", "d"], running: [0, 1], slow: [0, 1],
            parallel: 2, leastRate: 1, giveWay: [0, 1], next: 60),
        Case(
            name: "what begins while others wait is looked at again", queue: ["a", "b"], parallel: 1, leastRate: 1,
            start: [0], next: 60),
        Case(
            name: "where nothing waits the slow go on", queue: ["a", "b!", "c"], running: [0, 2], slow: [0, 2],
            parallel: 2, leastRate: 1),
        Case(
            name: "for one that waits for a time nothing gives its place", queue: ["a", "b@9"], running: [0],
            slow: [0], parallel: 1, leastRate: 1),
        Case(
            name: "one of a burdened host gets the place of one of that host only", queue: ["a", "b", "b"],
            running: [0, 1], slow: [0], perHost: 1, leastRate: 1, next: 60),
        Case(
            name: "a slow host gives its place to another download of it", queue: ["a", "a", "a"], running: [0, 1],
            slow: [0], leastRate: 1, giveWay: [0], next: 60),
        Case(
            name: "two slow hosts do not hold the whole queue", queue: ["a", "a", "b", "c"], running: [0, 1, 2],
            slow: [0, 1, 2], leastRate: 1, giveWay: [2], next: 60),
        Case(
            name: "where a place is coming anyway nothing is stopped for it", queue: ["a", "b", "c"], running: [0, 1],
            ending: [1], slow: [0], parallel: 2, leastRate: 1, next: 60),
        Case(
            name: "without a least rate nothing gives its place", queue: ["a", "b"], running: [0], slow: [0],
            parallel: 1),
    ]

    @Test("It decides what starts, what stops, and when to decide again", arguments: cases)
    func plan(_ test: Case) throws {
        var settings = DownloadSettings()
        try settings.setParallel(test.parallel)
        try settings.setPerHost(test.perHost)
        try settings.setLeastRate(test.leastRate)
        settings.hours = try test.hours.map { try DownloadHours($0) }
        let ids = try test.queue.indices.map { try Self.id($0) }
        let queue = try test.queue.enumerated().map { number, words in
            let parts = words.split(separator: "@")
            let host = try #require(parts.first)
            return DownloadSchedule.Candidate(
                id: ids[number], host: String(host.prefix { $0 != "!" }), isWaiting: !host.hasSuffix("!"),
                notBefore: parts.count > 1 ? Self.now + (Int64(parts[1]) ?? 0) : nil)
        }
        let plan = DownloadSchedule(settings: settings).plan(
            queue, running: Set(test.running.map { ids[$0] }), ending: Set(test.ending.map { ids[$0] }),
            slow: Set(test.slow.map { ids[$0] }), at: DownloadSchedule.Moment(time: Self.now, secondOfDay: test.second))
        #expect(plan.start == test.start.map { ids[$0] })
        #expect(plan.stop == Set(test.stop.map { ids[$0] }))
        #expect(plan.giveWay == Set(test.giveWay.map { ids[$0] }))
        #expect(plan.next == test.next)
    }

    @Test("Once every host has as much as it may, the rest of the queue is not read")
    func burdened() throws {
        var settings = DownloadSettings()
        try settings.setPerHost(1)
        let queue = try (0..<200).map { number in
            DownloadSchedule.Candidate(
                id: try Self.id(number), host: number < 2 ? "a" : number == 2 ? "b" : "a", isWaiting: true,
                notBefore: nil)
        }
        let read = Locked(0)
        let plan = DownloadSchedule(settings: settings).plan(
            queue.lazy.map { candidate in
                read.withLock { $0 += 1 }
                return candidate
            }, hosts: 2, running: [queue[2].id], at: DownloadSchedule.Moment(time: Self.now, secondOfDay: 0))
        #expect(plan.start == [queue[0].id])
        #expect(
            plan
                == DownloadSchedule(settings: settings).plan(
                    queue, running: [queue[2].id], at: DownloadSchedule.Moment(time: Self.now, secondOfDay: 0)))
        let one = Locked(0)
        _ = DownloadSchedule(settings: settings).plan(
            queue.dropFirst(3).lazy.map { candidate in
                one.withLock { $0 += 1 }
                return candidate
            }, hosts: 1, running: [], at: DownloadSchedule.Moment(time: Self.now, secondOfDay: 0))
        let count = one.withLock(\.self)
        #expect(count < 10)
    }

    @Test("What was removed from the queue and still runs takes a place")
    func removed() throws {
        let candidate = DownloadSchedule.Candidate(id: try Self.id(1), host: "a", isWaiting: true, notBefore: nil)
        var settings = DownloadSettings()
        try settings.setLeastRate(0)
        let plan = DownloadSchedule(settings: settings).plan(
            [candidate], running: Set(try [7, 8, 9].map { try Self.id($0) }),
            at: DownloadSchedule.Moment(time: Self.now, secondOfDay: 0))
        #expect(plan == DownloadSchedule.Plan())
    }

    private static func id(_ number: Int) throws -> DownloadID {
        try #require(DownloadID(bytes: Array(repeating: UInt8(number + 1), count: 16)))
    }

    // MARK: Retries

    private static func refusal(_ status: Int, retryAfter: Int? = nil) -> VaultError {
        var error = VaultError(.refused, "no")
        (error.originStatus, error.retryAfter) = (status, retryAfter)
        return error
    }

    @Test("What may pass is tried again, and what cannot is left to a person")
    func retries() {
        let policy = RetryPolicy()
        func retry(_ error: VaultError, _ attempts: Int64 = 0) -> DownloadRetry {
            DownloadRetry(after: error, attempts: attempts, chance: 0, policy: policy)
        }
        for status in [400, 401, 403, 404, 410, 451, 501, 505] {
            #expect(retry(Self.refusal(status)) == .no, "\(status)")
        }
        for status in [408, 425, 429, 500, 502, 503, 504, 520] {
            #expect(retry(Self.refusal(status)) == .after(5), "\(status)")
        }
        let passing: [VaultError.Code] = [
            .unreachable, .notHeld, .changed, .diskFull, .quotaExceeded, .storage, .owned, .invalidResponse,
        ]
        for code in passing {
            #expect(retry(VaultError(code, "no")) == .after(5), "\(code)")
        }
        #expect(retry(VaultError(.notMedia, "a page")) == .after(5), "a network's portal goes as it came")
        #expect(retry(VaultError(.notMedia, "a page"), 99) == .after(900))
        #expect(retry(VaultError(.notMedia, "a page"), 100) == .no, "what is a page for a day is one")
        #expect(retry(VaultError(.notMedia, "a feed", hint: .followFeed)) == .no, "no portal sends a feed")
        for code in [VaultError.Code.invalidURL, .invalidArgument, .integrity] {
            #expect(retry(VaultError(code, "no")) == .no, "\(code)")
        }
        for code in [VaultError.Code.removed, .busy, .closed] {
            #expect(retry(VaultError(code, "no")) == .soon, "\(code)")
        }
        #expect(retry(Self.refusal(503, retryAfter: 120)) == .after(120))
        #expect(retry(Self.refusal(429, retryAfter: 1)) == .after(5), "an origin that asks for less is not hurried")
        #expect(retry(Self.refusal(503, retryAfter: .max)) == .after(86_400))
        #expect(retry(Self.refusal(503, retryAfter: -4)) == .after(5))
    }

    @Test("The delay doubles up to a bound, and chance takes up to half of it")
    func delays() {
        let policy = RetryPolicy()
        let delays = [0, 1, 2, 7, 8, 100, .max].map { policy.queueDelay(attempts: $0, chance: 0) }
        #expect(delays == [5, 10, 20, 640, 900, 900, 900])
        var hasty = RetryPolicy()
        (hasty.firstQueueDelay, hasty.longestQueueDelay) = (.zero, .milliseconds(10))
        #expect(hasty.queueDelay(attempts: 3, chance: 1) == 1, "a failing download must not run without a pause")
        #expect(policy.queueDelay(attempts: 2, chance: 1) == 10)
    }
}
