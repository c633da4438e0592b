import Testing
import VaultModel

@testable import VaultCache

@Suite("Few large manifests at a time are in memory", .timeLimit(.minutes(1)))
struct ManifestSemaphoreTests {
    private static let large = ManifestSemaphore.smallBytes + 1

    @Test("Small manifests need no seat, and one manifest takes only one")
    func small() async throws {
        let room = ManifestSemaphore(seats: 1)
        let holder = ManifestSeat(in: room)
        for _ in 0..<3 { #expect(try await holder.mayTake(Self.large)) }
        for _ in 0..<3 { #expect(try await ManifestSeat(in: room).mayTake(ManifestSemaphore.smallBytes)) }
        withExtendedLifetime(holder) {}
    }

    @Test("No more have a seat than there are, each waiting one gets one, and one that gives up takes none")
    func seats() async throws {
        let room = ManifestSemaphore(seats: 2)
        let count = Count()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let task = Task {
                        let seat = ManifestSeat(in: room)
                        guard try await seat.mayTake(Self.large) else { return }
                        count.enter()
                        for _ in 0..<10 { await Task.yield() }
                        count.leave()
                        withExtendedLifetime(seat) {}
                    }
                    if number % 3 == 0 { task.cancel() }
                    do { try await task.value } catch is CancellationError {}
                }
            }
            try await group.waitForAll()
        }
        #expect((1...2).contains(count.most))
        #expect((40...60).contains(count.given))
        // All seats are free again.
        let both = [ManifestSeat(in: room), ManifestSeat(in: room)]
        for seat in both { #expect(try await seat.mayTake(Self.large)) }
    }

    /// Counts those that have a seat.
    private final class Count: Sendable {
        private let state = Locked((seated: 0, most: 0, given: 0))

        var most: Int { state.withLock { $0.most } }
        var given: Int { state.withLock { $0.given } }

        func enter() {
            state.withLock { state in
                state.seated += 1
                state.most = max(state.most, state.seated)
            }
        }

        func leave() { state.withLock { ($0.seated, $0.given) = ($0.seated - 1, $0.given + 1) } }
    }
}
