import SeededRandom
import Testing
import VaultModel

@testable import VaultFetch

/// Waiters are numbers: each must be resumed exactly once.
@Suite("A transfer's state")
struct TransferStateTests {
    private typealias State = TransferState<Int>

    private static let head = OriginHead(status: 200, fields: HeaderFields())
    private static let failure = OriginFailure(.interrupted, "cut short")

    private static func receiving(limit: Int = 100) -> State {
        var state = State(limit: limit)
        state.receive(head: head)
        _ = state.takeHead()
        return state
    }

    /// The bytes of a step; nil for any other step.
    private static func bytes(_ step: State.Step<[UInt8]?>) -> [UInt8]? {
        if case .ready(let bytes?, _) = step { bytes } else { nil }
    }

    private static func isEnd(_ step: State.Step<[UInt8]?>) -> Bool {
        if case .ready(nil, _) = step { true } else { false }
    }

    private static func resumes(_ step: State.Step<[UInt8]?>) -> Bool {
        if case .ready(_, let resumes) = step { resumes } else { false }
    }

    private static func error<Value>(_ step: State.Step<Value>) -> (any Error)? {
        if case .failed(let error) = step { error } else { nil }
    }

    private static func isCancellation<Value>(_ step: State.Step<Value>) -> Bool { error(step) is CancellationError }

    @Test("The head wakes its waiter, and is returned once")
    func headWakes() {
        var state = State(limit: 100)
        #expect(state.park(1) == nil)
        #expect(state.takeWaiters().isEmpty)
        state.receive(head: Self.head)
        #expect(state.takeWaiters() == [1])
        #expect(state.takeWaiters().isEmpty)
        guard case .ready(let head, false) = state.takeHead() else {
            Issue.record("no head")
            return
        }
        #expect(head.status == 200)
        guard case .wait = state.takeHead() else {
            Issue.record("a second head")
            return
        }
    }

    @Test("Bytes wake their waiter, once for all pieces of one turn")
    func bytesWake() {
        var state = Self.receiving()
        #expect(state.park(1) == nil)
        #expect(state.receive([1, 2].span) == .taken)
        #expect(state.receive([3].span) == .taken)
        #expect(state.takeWaiters() == [1])
        #expect(Self.bytes(state.takeBytes()) == [1, 2, 3])
        guard case .wait = state.takeBytes() else {
            Issue.record("unexpected bytes")
            return
        }
    }

    @Test("A caller does not wait for bytes that are already there")
    func noLostWake() {
        var state = Self.receiving()
        #expect(state.receive([1].span) == .taken)
        #expect(state.park(1) == 1)
        #expect(state.takeWaiters().isEmpty)
    }

    @Test("A full buffer pauses the transfer; a half-empty one resumes it, reported once")
    func pausesAndResumes() {
        var state = Self.receiving(limit: 3 * BodyBuffer.blockSize)
        let block = [UInt8](repeating: 7, count: BodyBuffer.blockSize)
        for _ in 0..<3 { #expect(state.receive(block.span) == .taken) }
        #expect(state.receive([1].span) == .paused)
        #expect(state.isPaused && state.bufferedBytes == 3 * BodyBuffer.blockSize)
        #expect(!Self.resumes(state.takeBytes()))
        #expect(Self.resumes(state.takeBytes()))
        #expect(!state.isPaused)
        #expect(!Self.resumes(state.takeBytes()))
    }

    @Test("An empty buffer accepts a piece larger than the limit, so that the transfer does not stall")
    func oversized() {
        var state = Self.receiving(limit: 2)
        #expect(state.receive([1, 2, 3].span) == .taken)
        #expect(state.receive([4].span) == .paused)
        #expect(Self.resumes(state.takeBytes()))
        #expect(state.receive([4].span) == .taken)
    }

    @Test("At the end the remaining bytes come first, then the end, on every call")
    func properEnd() {
        var state = Self.receiving()
        #expect(state.receive([1].span) == .taken)
        state.finish(nil)
        #expect(state.takeWaiters().isEmpty)
        #expect(Self.bytes(state.takeBytes()) == [1])
        #expect(Self.isEnd(state.takeBytes()))
        #expect(Self.isEnd(state.takeBytes()))
        #expect(state.park(1) == 1)
    }

    @Test("Bytes from before a failure are returned before the failure")
    func failureKeepsBytes() {
        var state = Self.receiving()
        #expect(state.receive([1].span) == .taken)
        state.finish(Self.failure)
        state.finish(nil)
        #expect(Self.bytes(state.takeBytes()) == [1])
        #expect(Self.error(state.takeBytes()) as? OriginFailure == Self.failure)
        #expect(Self.error(state.takeBytes()) as? OriginFailure == Self.failure)
    }

    @Test("A failure before the head is thrown to the waiter for the head")
    func failureBeforeHead() {
        var state = State(limit: 100)
        #expect(state.park(1) == nil)
        state.finish(Self.failure)
        #expect(state.takeWaiters() == [1])
        #expect(Self.error(state.takeHead()) as? OriginFailure == Self.failure)
    }

    @Test("An end without a head is an invalid response")
    func endWithoutHead() {
        var state = State(limit: 100)
        state.finish(nil)
        #expect((Self.error(state.takeHead()) as? OriginFailure)?.kind == .invalidResponse)
    }

    @Test("Cancellation wakes the reader, drops the buffer, and is passed to the loop once")
    func cancel() {
        var state = Self.receiving()
        #expect(state.park(1) == nil)
        #expect(state.cancel() == true)
        #expect(state.takeWaiters() == [1])
        #expect(Self.isCancellation(state.takeBytes()))
        #expect(state.cancel() == false)
        #expect(state.takeWaiters().isEmpty)
        #expect(state.receive([1].span) == .unwanted)
        state.receive(head: Self.head)
        #expect(Self.isCancellation(state.takeHead()))
        #expect(state.isCancelled && state.bufferedBytes == 0)
    }

    @Test("A finished transfer needs no loop to cancel it, but returns no more bytes")
    func cancelAfterEnd() {
        var state = Self.receiving()
        #expect(state.receive([1].span) == .taken)
        state.finish(nil)
        #expect(state.cancel() == false)
        #expect(Self.isCancellation(state.takeBytes()))
    }

    @Test(
        "In any order of events each waiter resumes once, with its bytes in order", arguments: 0..<200 as Range<UInt64>)
    func anyOrder(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var state = Self.receiving(limit: 64)
        var (sent, got, nextWaiter): (UInt8, [UInt8], Int) = (0, [], 0)
        var parked: [Int] = []
        var woken: [Int] = []
        for _ in 0..<300 {
            switch random.next() % 16 {
            case 0..<6:
                let piece = (0..<Int(random.next() % 40 + 1)).map { sent &+ UInt8($0) }
                if !state.isPaused, state.receive(piece.span) == .taken { sent &+= UInt8(piece.count) }
            case 6..<9:
                nextWaiter += 1
                if state.park(nextWaiter) == nil { parked.append(nextWaiter) }
            case 9..<14: got += Self.bytes(state.takeBytes()) ?? []
            default: break
            }
            woken += state.takeWaiters()
            #expect(state.bufferedBytes <= 64, "seed \(seed)")
        }
        _ =
            random.next() % 2 == 0
            ? state.cancel()
            : {
                state.finish(nil)
                return true
            }()
        woken += state.takeWaiters()
        while let more = Self.bytes(state.takeBytes()) { got += more }
        #expect(woken == parked, "seed \(seed)")
        #expect(got == (0..<got.count).map { UInt8(truncatingIfNeeded: $0) }, "seed \(seed)")
    }
}
