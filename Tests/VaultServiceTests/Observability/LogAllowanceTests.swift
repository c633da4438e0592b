import Logging
import Testing

@testable import VaultService

@Suite("How much is logged in a minute")
struct LogAllowanceTests {
    private static func kind(_ message: String, _ reason: String? = nil) -> LogAllowance.Kind {
        LogAllowance.Kind(level: .notice, message: message, reason: reason)
    }

    @Test("So many events of a kind are logged in a minute, and the next one says how many were left out")
    func minute() {
        var allowance = LogAllowance()
        let now = ContinuousClock.now
        let verdicts = (0..<100).map { _ in allowance.take(Self.kind("a"), at: now) }
        #expect(verdicts.filter { $0 == .suppressed }.count == 100 - LogAllowance.most)
        #expect(verdicts[LogAllowance.most - 1] == .last(suppressed: 0))
        let other = allowance.take(Self.kind("b"), at: now)
        #expect(other == .logged(suppressed: 0), "another kind has a minute of its own")
        let later = now + .seconds(60)
        #expect(allowance.take(Self.kind("a"), at: later) == .logged(suppressed: 100 - LogAllowance.most))
        #expect(allowance.take(Self.kind("a"), at: later) == .logged(suppressed: 0))
    }

    @Test("Copies of a logger share the allowance, and lines that an operator asked for are all logged")
    func handler() {
        let log = LogRecorder()
        var logger = log.logger
        logger.handler = ServiceLogHandler(logger.handler)
        for _ in 0..<100 {
            var copy = logger
            copy[metadataKey: "request"] = "1"
            copy.notice("a viewer failed to sign in", source: "VaultService")
        }
        #expect(log.lines.count == LogAllowance.most)
        #expect(log.lines.last?.text.contains("only counted") == true)
        for _ in 0..<100 { logger.info("answered", source: "VaultService") }
        #expect(log.lines.count == LogAllowance.most + 100)
    }

    @Test("What was left out is told once its minute is over, or at the end, and once only")
    func counts() {
        var allowance = LogAllowance()
        let now = ContinuousClock.now
        for _ in 0..<(LogAllowance.most + 7) { _ = allowance.take(Self.kind("a"), at: now) }
        _ = allowance.take(Self.kind("b"), at: now)
        #expect(allowance.takeCounts(at: now + .seconds(59)).isEmpty)
        #expect(allowance.takeCounts(at: now + .seconds(60)) == [Self.kind("a"): 7])
        #expect(allowance.takeCounts(at: nil).isEmpty)
        for _ in 0..<(LogAllowance.most + 3) { _ = allowance.take(Self.kind("a"), at: now) }
        #expect(allowance.takeCounts(at: nil) == [Self.kind("a"): 3])
    }

    @Test("Events with other reasons are of another kind, unless there are too many kinds")
    func reasons() {
        var allowance = LogAllowance()
        let now = ContinuousClock.now
        for _ in 0..<LogAllowance.most { _ = allowance.take(Self.kind("a", "unreachable"), at: now) }
        #expect(allowance.take(Self.kind("a", "unreachable"), at: now) == .suppressed)
        #expect(allowance.take(Self.kind("a", "refused"), at: now) == .logged(suppressed: 0))
        let verdicts = (0..<1000).map { allowance.take(Self.kind("b", "\($0)"), at: now) }
        let logged = verdicts.count { $0 != .suppressed }
        #expect(logged < LogAllowance.mostKinds + LogAllowance.most)
        #expect(allowance.takeCounts(at: nil)[Self.kind("b")] == 1000 - logged)
    }

    @Test("A service logs the numbers of what it left out before it ends, with kind and reason")
    func end() async throws {
        let log = LogRecorder()
        var logger = log.logger
        let handler = ServiceLogHandler(logger.handler)
        logger.handler = handler
        try await handler.loggingCounts { [logger] in
            for _ in 0..<(LogAllowance.most + 5) {
                logger.notice("an unlock failed", metadata: ["reason": "wrongKey"], source: "VaultService")
            }
        }
        let line = try #require(log.lines.last)
        #expect(log.lines.count == LogAllowance.most + 1 && line.level == .notice)
        for text in ["events were only counted", "an unlock failed", #""suppressed": 5"#, "wrongKey"] {
            #expect(line.text.contains(text), "\(text)")
        }
    }
}
