import Logging
import Testing

@testable import VaultService

@Suite("How much is logged in a minute")
struct LogAllowanceTests {
    @Test("So many events of a kind are logged in a minute, and the next one says how many were left out")
    func minute() {
        var allowance = LogAllowance()
        let now = ContinuousClock.now
        let verdicts = (0..<100).map { _ in allowance.take("a", at: now) }
        #expect(verdicts.filter { $0 == .suppressed }.count == 100 - LogAllowance.most)
        #expect(verdicts[LogAllowance.most - 1] == .last(suppressed: 0))
        #expect(allowance.take("b", at: now) == .logged(suppressed: 0), "another kind has a minute of its own")
        let later = now + .seconds(60)
        #expect(allowance.take("a", at: later) == .logged(suppressed: 100 - LogAllowance.most))
        #expect(allowance.take("a", at: later) == .logged(suppressed: 0))
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
}
