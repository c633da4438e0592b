import Testing
import VaultModel

@testable import VaultCache

@Suite("Revalidation: when to ask the origin, and how long to wait")
struct RevalidationTests {
    private let start = ContinuousClock.now
    private let patience = RetryPolicy().revalidationTimeLimit

    @Test("One reader asks, the others join, and none waits longer than the time limit after the start")
    func shared() {
        var revalidation = Revalidation()
        let end = start + patience
        #expect(revalidation.advice(now: start, patience: patience) == .ask(until: end))
        #expect(revalidation.advice(now: start + .seconds(1), patience: patience) == .join(until: end))
        let late = revalidation.advice(now: end, patience: patience)
        #expect(late == .know(.stale(.slow)), "a later reader does not wait at all")
        #expect(revalidation.verdict == .stale(.slow) && revalidation.isRunning)
        revalidation.end(.confirmed(status: 304), now: end + .seconds(1))
        #expect(revalidation.verdict == .confirmed(status: 304) && !revalidation.isRunning)
    }

    @Test("A revalidation is not repeated within two seconds after success, or ten after failure")
    func pauses() {
        let verdicts: [(Revalidation.Verdict, Duration)] = [
            (.confirmed(status: 304), .seconds(2)), (.changed, .seconds(2)), (.stale(.refused), .seconds(10)),
            (.stale(.unreachable), .seconds(10)), (.stale(.refused, status: 503), .seconds(10)),
            (.refused(OriginFailure(.refused(status: 404, retryAfter: nil), "gone")), .seconds(10)),
        ]
        for (verdict, pause) in verdicts {
            var revalidation = Revalidation()
            _ = revalidation.advice(now: start, patience: patience)
            revalidation.end(verdict, now: start)
            #expect(revalidation.advice(now: start + pause - .milliseconds(1), patience: patience) == .know(verdict))
            let later = start + pause
            #expect(revalidation.advice(now: later, patience: patience) == .ask(until: later + patience))
        }
    }
}
