import Testing

@testable import MediaVault

@Suite("The pace of a download")
struct RateLimitTests {
    private let begin = ContinuousClock.now

    @Test("What is taken at the rate allowed waits as long as it takes")
    func steady() {
        var limit = RateLimit(bytesPerSecond: 1000, now: begin)
        #expect(limit.take(500, now: begin) == .milliseconds(500))
        #expect(limit.take(500, now: begin + .milliseconds(500)) == .milliseconds(500))
    }

    @Test("What two connections take adds up")
    func shared() {
        var limit = RateLimit(bytesPerSecond: 1000, now: begin)
        #expect(limit.take(500, now: begin) == .milliseconds(500))
        #expect(limit.take(500, now: begin) == .seconds(1))
    }

    @Test("A long silence is not made up for by a burst")
    func noBurst() {
        var limit = RateLimit(bytesPerSecond: 1000, now: begin)
        #expect(limit.take(100, now: begin + .seconds(60)) == .zero)
        #expect(limit.take(1000, now: begin + .seconds(60)) == .milliseconds(900))
    }
}
