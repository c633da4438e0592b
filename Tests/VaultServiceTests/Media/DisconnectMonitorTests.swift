import Synchronization
import Testing

@testable import VaultService

@Suite("Clients that disconnect while their answers wait")
struct DisconnectMonitorTests {
    @Test(
        "Few clients are checked often, many at most four times a second",
        arguments: [(0, 50), (1, 50), (63, 50), (64, 100), (200, 200), (256, 250), (100_000, 250)])
    func interval(count: Int, milliseconds: Int) {
        #expect(DisconnectMonitor.interval(of: count) == .milliseconds(milliseconds))
    }

    @Test("A disconnect is reported once, and a client that does not wait is not checked")
    func gone() async {
        let round = DisconnectMonitor()
        let asked = Mutex(0)
        _ = round.add(
            DisconnectMonitor.Client(
                isWaiting: { false },
                isThere: {
                    asked.withLock { $0 += 1 }
                    return false
                }, onDisconnect: {}))
        for _ in 0..<3 {
            await withCheckedContinuation { waiter in
                _ = round.add(
                    DisconnectMonitor.Client(isWaiting: { true }, isThere: { false }, onDisconnect: { waiter.resume() })
                )
            }
        }
        #expect(asked.withLock { $0 } == 0)
    }
}
