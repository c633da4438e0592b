import Testing

@testable import MediaVault

@Suite("Rate limit of a download")
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
}
