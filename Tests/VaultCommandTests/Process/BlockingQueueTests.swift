import Dispatch
import Testing

@testable import VaultCommand

@Suite struct BlockingQueueTests {
    private struct Odd: Error {}

    @Test("A call returns its value or throws its error") func results() async throws {
        let queue = BlockingQueue("test")
        #expect(try await queue.run { 7 } == 7)
        await #expect(throws: Odd.self) { try await queue.run { throw Odd() } }
    }

    @Test("Calls run one after another, in order") func order() async throws {
        let queue = BlockingQueue("test")
        for number in 0..<100 { #expect(try await queue.run { number } == number) }
    }

    @Test("Cancellation does not wait for a blocking call") func cancelling() async throws {
        let queue = BlockingQueue("test")
        let (begun, hold) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
        let task = Task {
            try await queue.run {
                begun.continuation.yield()
                hold.wait()
            }
        }
        for await _ in begun.stream { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        hold.signal()
    }

    @Test("A call in a cancelled task does not start") func cancelledBefore() async throws {
        let queue = BlockingQueue("test")
        let gate = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in gate.stream {}
            return try await queue.run { true }
        }
        task.cancel()
        gate.continuation.finish()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
    }
}
