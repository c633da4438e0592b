import Testing
import VaultModel

@testable import VaultCache

/// The loader's decisions, without a socket, a file or the system clock.
@Suite("Loader state: decisions of one loader")
struct LoaderStateTests {
    private let start = ContinuousClock.now

    @Test("A transfer runs at most one window ahead of its fastest reader")
    func window() {
        var (state, reader, fetch) = LoaderState.reading(now: start)
        var received: Int64 = 0
        while state.fetches.mayReceive(fetch, now: start) == true {
            _ = state.received([UInt8](repeating: 7, count: 16 << 10), by: fetch, now: start)
            received += 16 << 10
        }
        #expect(received == FetchState.leastWindow)
        #expect(FetchState.leastWindow == 64 << 10, "a player that probes a position and leaves costs no more")
        _ = state.advance(reader, to: 20_000)
        #expect(state.fetches.mayReceive(fetch, now: start) == true)
    }

    @Test("A reader that outruns its window gets a larger one, and loses it when it stops reading")
    func growingWindow() {
        var (state, reader, fetch) = LoaderState.reading(100_000_000, now: start)
        var position: Int64 = 0
        func fill() {
            while state.fetches.mayReceive(fetch, now: start) == true {
                _ = state.received([UInt8](repeating: 7, count: 64 << 10), by: fetch, now: start)
                let present = state.fetches[fetch]?.present ?? 0
                state.fetches[fetch]?.sealedTo = present
            }
        }
        func ahead() -> Int64 { (state.fetches[fetch]?.present ?? 0) - position }
        fill()
        #expect(ahead() == FetchState.leastWindow)
        while position < 60_000_000 {
            position += ahead()
            _ = state.advance(reader, to: position)
            _ = state.step(reader, now: start)
            fill()
        }
        #expect(ahead() == 16 * FetchState.leastWindow, "the window stops growing")
        _ = state.tick(now: start + .seconds(1))
        #expect(state.fetches[fetch]?.recent.start == state.fetches[fetch]?.present, "sealed bytes are released")
        position += ahead()
        _ = state.advance(reader, to: position)
        fill()
        #expect(ahead() == FetchState.leastWindow)
    }

    @Test("A transfer whose readers stopped reading ends after 30 s, and resumes when one of them reads on")
    func letGo() {
        var (state, reader, fetch) = LoaderState.reading(now: start)
        while state.fetches.mayReceive(fetch, now: start) == true {
            _ = state.received([UInt8](repeating: 7, count: 64 << 10), by: fetch, now: start)
        }
        _ = state.tick(now: start + .seconds(29))
        #expect(state.fetches.mayReceive(fetch, now: start + .seconds(29)) == false)
        _ = state.tick(now: start + .seconds(30))
        #expect(state.fetches.mayReceive(fetch, now: start + .seconds(30)) == nil)
        _ = state.receiverEnded(fetch, nil, now: start, chance: 1)
        _ = state.advance(reader, to: FetchState.leastWindow)
        guard case (.fetch(let next), _) = state.step(reader, now: start + .seconds(31)) else {
            Issue.record("the reader must resume the transfer")
            return
        }
        #expect(state.fetches[next]?.start == FetchState.leastWindow)
    }

    @Test("A fetch is cancelled when its last reader leaves, and not while another reader wants it")
    func leaving() {
        var (state, reader, fetch) = LoaderState.reading(now: start)
        let other = state.addReader(0..<100_000)
        guard case (.wait, _) = state.step(other, now: start) else {
            Issue.record("the second reader must wait for the first reader's fetch")
            return
        }
        #expect(state.removeReader(reader).cancelled.isEmpty)
        #expect(state.removeReader(other).cancelled == [fetch])
    }

    @Test("A reader far ahead starts its own fetch, and the fetch behind stops where the new one began")
    func cut() {
        var (state, _, fetch) = LoaderState.reading(now: start)
        let seek = state.addReader(9_000_000..<10_000_000)
        guard case (.fetch(let ahead), _) = state.step(seek, now: start) else {
            Issue.record("a seek must not wait for a transfer far behind it")
            return
        }
        #expect(state.fetches[fetch]?.end == 9_000_000 && state.fetches[ahead]?.start == 9_000_000)
    }

    @Test("Bytes that still arrive from a cancelled fetch are used up to the start of the next fetch")
    func lateBytes() {
        var (state, reader, fetch) = LoaderState.reading(now: start)
        _ = state.received([UInt8](repeating: 1, count: 10_000), by: fetch, now: start)
        #expect(state.removeReader(reader).cancelled == [fetch])
        let next = state.addReader(15_000..<10_000_000)
        guard case (.fetch, _) = state.step(next, now: start) else {
            Issue.record("a reader must not wait for a cancelled fetch")
            return
        }
        #expect(state.received([UInt8](repeating: 1, count: 8_000), by: fetch, now: start).used == 5_000)
        #expect(state.received([UInt8](repeating: 1, count: 8_000), by: fetch, now: start).used == 0)
    }

    @Test("A failure reaches each reader that waited for the fetch, once")
    func failure() {
        var (state, reader, fetch) = LoaderState.reading(now: start)
        guard case (.wait, _) = state.step(reader, now: start) else {
            Issue.record("the reader must wait for its fetch")
            return
        }
        _ = state.receiverEnded(fetch, .origin(OriginFailure(.interrupted, "broke off")), now: start, chance: 1)
        guard case (.failed, _) = state.step(reader, now: start) else {
            Issue.record("the reader must receive the error")
            return
        }
        guard case (.fetch, _) = state.step(reader, now: start) else {
            Issue.record("after that the reader may try again")
            return
        }
    }

    @Test("Bytes that are not stored stay in memory until their reader took them, and are not fetched twice")
    func leftOver() {
        var (state, reader, fetch) = LoaderState.reading(20_000, now: start)
        _ = state.storeFailed(fetch, segment: nil, VaultError(.quotaExceeded, "no space"))
        #expect(state.bypass(reader) == .capacity)
        let (used, effects) = state.received([UInt8](repeating: 1, count: 20_000), by: fetch, now: start)
        #expect(used == 20_000 && effects.passedThrough == 20_000)
        _ = state.receiverEnded(fetch, nil, now: start, chance: 1)
        _ = state.remove(fetch)
        guard case (.take(let bytes), _) = state.step(reader, now: start) else {
            Issue.record("the reader must get the bytes")
            return
        }
        _ = state.advance(reader, to: 10_000)
        #expect(bytes.count == 20_000 && state.fetches.count == 1)
        let other = state.addReader(5_000..<20_000)
        guard case (.take, _) = state.step(other, now: start) else {
            Issue.record("another reader must get them as well")
            return
        }
        _ = state.advance(reader, to: 20_000)
        #expect(state.fetches.count == 1)
        _ = state.removeReader(other)
        #expect(state.fetches.isEmpty)
    }

    @Test("Offline nothing is fetched, and a gap is reported at its first byte")
    func offline() {
        var state = LoaderState(mode: .offline)
        _ = state.learn(ContentInformation(length: 10, type: nil, validators: Validators(), supportsRanges: true))
        let reader = state.addReader(4..<10)
        guard case (.hole(at: 4, isDamage: false), _) = state.step(reader, now: start) else {
            Issue.record("offline a gap must be reported")
            return
        }
    }

    @Test("Only held and fresh ranges are opened without a request")
    func held() {
        func opened(
            _ requested: RequestedRange, held: Int64 = 100, length: Int64? = 100, supportsRanges: Bool = true,
            age: Int64 = 0, _ change: (inout LoaderState) -> Void = { _ in }
        ) -> ByteRange? {
            var state = LoaderState(mode: .online)
            let information = ContentInformation(
                length: length, type: nil, validators: Validators(), supportsRanges: supportsRanges)
            _ = state.begin(
                information, Freshness(checked: 1000, lifetime: 10, isStrict: false), keeping: nil, isBound: false)
            state.known.map.put(
                SegmentDescription(
                    id: Self.id(1), representation: Self.id(2), keyNumber: 1,
                    blockSize: 4096, start: 0, length: held))
            change(&state)
            guard let found = state.held(requested, now: 1000 + age), let reader = state.addReader(of: found) else {
                return nil
            }
            #expect(state.readers[reader]?.position == found.range.lowerBound)
            #expect(found.segment.representation == Self.id(2) && found.run == 0..<held)
            return found.range
        }
        #expect(opened(.whole) == 0..<100 && opened(.from(40)) == 40..<100 && opened(.suffix(7)) == 93..<100)
        #expect(opened(.closed(first: 10, last: 19)) == 10..<20 && opened(.closed(first: 90, last: 900)) == 90..<100)
        #expect(opened(.from(100)) == nil, "the range is past the end")
        #expect(opened(.from(40), held: 99) == nil && opened(.closed(first: 0, last: 98), held: 99) == 0..<99)
        #expect(opened(.from(0), age: 9) != nil && opened(.from(0), age: 10) == nil, "the title is stale")
        #expect(opened(.from(0), age: 10) { $0.known.isPinned = true } == 0..<100)
        #expect(opened(.closed(first: 0, last: 9), length: nil) == nil, "the length is unknown")
        #expect(opened(.closed(first: 0, last: 9), held: 99, supportsRanges: false) == nil, "the whole title is served")
        #expect(opened(.closed(first: 0, last: 9), supportsRanges: false) == 0..<10)
        #expect(opened(.whole) { _ = $0.end(with: VaultError(.closed, "closed")) } == nil)
        #expect(opened(.whole) { _ = $0.setMode(vault: .offline) } == 0..<100)
    }

    @Test("Bytes that were found to be held are not opened once another representation has begun, or all has ended")
    func overtaken() throws {
        let information = ContentInformation(
            length: 100, type: nil, validators: Validators(), supportsRanges: true)
        for (change, opens) in [
            ({ _ in }, true), ({ _ = $0.begin(information, keeping: nil, isBound: false) }, false),
            ({ _ = $0.forget() }, false),
            ({ _ = $0.end(with: VaultError(.closed, "closed")) }, false),
        ] as [((inout LoaderState) -> Void, Bool)] {
            var state = LoaderState(mode: .online)
            _ = state.begin(information, keeping: nil, isBound: false)
            state.known.map.put(
                SegmentDescription(
                    id: Self.id(1), representation: Self.id(2), keyNumber: 1, blockSize: 4096, start: 0, length: 100))
            let found = try #require(state.held(.whole, now: 1000))
            change(&state)
            #expect((state.addReader(of: found) != nil) == opens)
            #expect(state.readers.isEmpty == !opens)
        }
    }

    private static func id<Kind>(_ byte: UInt8) -> Identifier<Kind> {
        guard let id = Identifier<Kind>(bytes: [UInt8](repeating: byte, count: Kind.byteCount)) else {
            preconditionFailure("an id has as many bytes as its kind says")
        }
        return id
    }
}
