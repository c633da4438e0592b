import Testing

@testable import VaultCache

@Suite("Rate limit of a download", .timeLimit(.minutes(1)))
struct RateLimitTests {
    private let begin = ContinuousClock.now

    @Test("Bytes wait as long as the allowed rate requires")
    func steady() {
        var limit = RateLimit(bytesPerSecond: 1000, now: begin)
        #expect(limit.take(500, now: begin) == .milliseconds(500))
        #expect(limit.take(500, now: begin + .milliseconds(500)) == .milliseconds(500))
    }

    @Test("The bytes of two connections add up")
    func shared() {
        var limit = RateLimit(bytesPerSecond: 1000, now: begin)
        #expect(limit.take(500, now: begin) == .milliseconds(500))
        #expect(limit.take(500, now: begin) == .seconds(1))
    }

    @Test("A long pause does not allow a burst")
    func noBurst() {
        var limit = RateLimit(bytesPerSecond: 1000, now: begin)
        #expect(limit.take(100, now: begin + .seconds(60)) == .zero)
        #expect(limit.take(1000, now: begin + .seconds(60)) == .milliseconds(900))
    }

    @Test("A new rate is in force at once, also for those who wait; a wider one, too", arguments: [false, true])
    func changed(isWider: Bool) async throws {
        let limit = SharedRateLimit(bytesPerSecond: 1)
        let taking = Task {
            try await (isWider ? SharedRateLimit(bytesPerSecond: nil, within: limit) : limit).take(1 << 40)
        }
        while limit.waiting == 0 { try await Task.sleep(for: .milliseconds(1)) }
        limit.use(bytesPerSecond: 1 << 30)
        try await taking.value
        #expect(limit.waiting == 0)
        try await limit.take(1)
    }

    @Test("A taker that is cancelled waits no longer")
    func cancelled() async throws {
        let limit = SharedRateLimit(bytesPerSecond: 1)
        let taking = Task { try await limit.take(1 << 40) }
        while limit.waiting == 0 { try await Task.sleep(for: .milliseconds(1)) }
        taking.cancel()
        await #expect(throws: CancellationError.self) { try await taking.value }
        #expect(limit.waiting == 0)
    }
}
