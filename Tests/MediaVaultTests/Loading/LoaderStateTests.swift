import Testing
import VaultModel

@testable import MediaVault

/// The loader's decisions, without a socket, a file or the system clock.
@Suite("Loader state: decisions of one loader")
struct LoaderStateTests {
    private let start = ContinuousClock.now

    /// Returns a state that knows a representation of `length` bytes, with one reader of all of it, at byte 0.
    private func reading(_ length: Int64 = 10_000_000) -> (LoaderState, ReaderState.ID, FetchState.ID) {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(
                length: length, type: nil, validators: Validators(entityTag: EntityTag(strong: "1")),
                supportsRanges: true))
        let reader = state.addReader(0..<length)
        guard case (.fetch(let fetch), _) = state.step(reader, now: start) else {
            Issue.record("a reader of a gap must start a fetch")
            return (state, reader, 0)
        }
        _ = state.accept(fetch, end: length, fromZero: false)
        return (state, reader, fetch)
    }

    @Test(
        "A reader that comes with the first answer cuts its transfer off, unless that alone can fill the representation",
        arguments: [true, false])
    func firstAnswer(isBound: Bool) {
        let length: Int64 = 10_000_000
        let information = ContentInformation(
            length: length, type: nil, validators: Validators(), supportsRanges: true)
        var state = LoaderState(mode: .online)
        let first = state.addReader(0..<Int64.max)
        guard case (.fetch(let fetch), _) = state.step(first, now: start) else {
            Issue.record("the first reader must ask")
            return
        }
        _ = state.begin(information, keeping: fetch, isBound: isBound)
        // Before the transfer is accepted, too.
        let other = state.addReader(5_000_000..<length)
        guard case (.fetch, _) = state.step(other, now: start) else {
            Issue.record("premise: the other is too far away to wait")
            return
        }
        _ = state.accept(fetch, end: length, fromZero: false, of: nil)
        #expect(state.fetches[fetch]?.end == (isBound ? length : 5_000_000))
    }

    @Test("A reader of a bound representation gets all of its bytes from one transfer, or from one of its own")
    func oneTransfer() {
        let length: Int64 = 10_000_000
        let information = ContentInformation(length: length, type: nil, validators: Validators(), supportsRanges: true)
        var state = LoaderState(mode: .online)
        let first = state.addReader(5_000_000..<length)
        guard case (.fetch(let fetch), _) = state.step(first, now: start) else {
            Issue.record("the first reader must ask")
            return
        }
        _ = state.begin(information, keeping: fetch, isBound: true, connection: 1)
        _ = state.accept(fetch, end: length, fromZero: false)
        #expect(state.boundStep(for: 0..<length) == .apart, "a part of it comes from elsewhere, even if it has not yet")
        #expect(state.boundStep(for: 6_000_000..<length) == .share && state.boundStep(for: 0..<1000) == .share)
        // One that was opened before, and whose transfer would end where the other begins.
        let whole = state.addReader(0..<length)
        guard case (.fetch(let gap), _) = state.step(whole, now: start) else {
            Issue.record("premise: its first bytes are not coming")
            return
        }
        #expect(state.fetches[gap]?.end == 5_000_000, "premise")
        let (share, _) = state.share(of: gap, from: 2)
        #expect(share == .nobodys && state.readers[whole]?.isSeparate == true && state.readers[whole]?.fetch == nil)
        guard case (.fetch(let own), _) = state.step(whole, now: start) else {
            Issue.record("it must ask by itself")
            return
        }
        #expect(state.fetches[own]?.isSeparate == true && state.fetches[own]?.end == length)
        // What nobody waits for ends.
        _ = state.receiverEnded(gap, nil, now: start, chance: 0)
        _ = state.remove(gap)
        // One that another transfer brings whole has that one alone.
        let short = [state.addReader(1000..<2000), state.addReader(1000..<3000)]
        guard case (.fetch(let part), _) = state.step(short[1], now: start) else {
            Issue.record("premise: nothing brings its bytes")
            return
        }
        _ = state.step(short[0], now: start)
        #expect(state.readers[short[0]]?.fetch == part, "premise: both wait for one answer")
        #expect(state.share(of: part, from: 3).0 == .apart)
        #expect(short.map { state.readers[$0]?.isSeparate } == [true, true])
        #expect(short.count { state.readers[$0]?.fetch == part } == 1, "bytes that one has had are dropped")
    }

    @Test("Of a transfer that is a reader's own, no byte is dropped that others would have passed over")
    func ownFromItsFirstByte() {
        var (state, _, _) = reading()
        state.isBound = true
        let short = state.addReader(5_000_000..<5_200_000)
        guard case (.fetch(let own), _) = state.step(short, now: start) else {
            Issue.record("premise: nothing brings its bytes")
            return
        }
        let later = state.addReader(5_100_000..<5_200_000)
        _ = state.step(later, now: start)
        #expect(state.readers[later]?.fetch == own, "premise: both wait for one answer")
        #expect(state.share(of: own, from: 2).0 == .apart)
        _ = state.accept(own, end: 5_200_000, fromZero: false)
        while state.mayReceive(own, now: start) == true {
            _ = state.received([UInt8](repeating: 7, count: 16 << 10), by: own, now: start)
        }
        #expect(state.fetches[own].map { $0.present - $0.start } == FetchState.leastWindow, "it waits for its reader")
        _ = state.tick(now: start + FetchState.stallTime)
        guard case (.take, _) = state.step(short, now: start) else {
            Issue.record("its first byte is gone")
            return
        }
    }

    @Test("A reader whose transfer ends at another's first byte gets one of its own before it has begun")
    func notCutAtAnother() {
        let length: Int64 = 10_000_000
        for end in [5_000_000, length] {
            var state = LoaderState(mode: .online)
            _ = state.learn(
                ContentInformation(length: length, type: nil, validators: Validators(), supportsRanges: true))
            state.isBound = true
            let ahead = state.addReader(5_000_000..<length)
            _ = state.step(ahead, now: start)
            #expect(state.boundStep(for: 5_000_000..<length) == .share, "nobody knows what its answer will be")
            let whole = state.addReader(0..<length)
            guard case (.fetch(let first), _) = state.step(whole, now: start) else {
                Issue.record("premise: its first bytes are not coming")
                return
            }
            #expect(state.fetches[first]?.end == 5_000_000, "premise")
            state.fetches[first]?.statedEnd = end
            let isEnough = end == length
            #expect(state.share(of: first, from: 1).0 == (isEnough ? .fill : .nobodys), "\(end) bytes come")
            #expect(state.fetches[first]?.end == end)
            #expect(state.readers[whole]?.isSeparate == !isEnough)
            #expect(state.readers[whole]?.fetch == (isEnough ? first : nil))
        }
    }

    @Test("A reader that begins with held bytes shares a transfer only if that is near their end")
    func heldBeforeFarTransfer() {
        var (state, _, fetch) = reading()
        state.isBound = true
        _ = state.received([UInt8](repeating: 7, count: 50_000), by: fetch, now: start)
        #expect(state.boundStep(for: 10_000..<10_000_000) == .share)
        // Bytes that came before on the same connection.
        let island = state.addFetch(5_000_000..<5_050_000, now: start)
        _ = state.accept(island, end: 5_050_000, fromZero: false)
        _ = state.received([UInt8](repeating: 7, count: 50_000), by: island, now: start)
        #expect(state.boundStep(for: 5_000_000..<5_050_000) == .share)
        #expect(state.boundStep(for: 5_000_000..<10_000_000) == .apart, "the other is far, and would not be waited for")
    }

    @Test("Unstored bytes that one connection alone may bring are kept for a slower reader, up to a bound")
    func keptForSlower() {
        var (state, slow, fetch) = reading()
        let fast = state.addReader(0..<10_000_000)
        _ = state.step(fast, now: start)
        state.isBound = true
        state.fetches[fetch]?.destination = .readers
        func receive(_ bytes: Int64) {
            _ = state.received([UInt8](repeating: 7, count: Int(bytes)), by: fetch, now: start)
            _ = state.advance(fast, to: state.fetches[fetch]?.present ?? 0)
        }
        receive(50_000)
        _ = state.advance(slow, to: 10_000)
        receive(FetchState.mostBehind - 50_000)
        #expect(state.fetches[fetch]?.recent.start == 0)
        _ = state.advance(slow, to: 50_000)
        #expect(state.fetches[fetch]?.recent.start == 50_000, "what all have had is dropped")
        receive(FetchState.mostBehind)
        #expect(state.fetches[fetch]?.recent.start == FetchState.mostBehind)
        receive(50_000)
        #expect(state.fetches[fetch].map { $0.recent.start == $0.present } == true, "that one is too far behind")
        #expect(state.mayReceive(fetch, now: start) == true, "and holds back nobody")
    }

    @Test("Where nothing is stored, readers of what cannot be told from another version have transfers of their own")
    func ownWhereNothingIsStored() {
        for mode in [VaultMode.noStore, .online] {
            var state = LoaderState(mode: mode)
            let readers = (0..<3).map { _ in state.addReader(0..<10_000_000) }
            guard case (.fetch(let fetch), _) = state.step(readers[0], now: start) else {
                Issue.record("premise: nothing brings its bytes")
                return
            }
            for reader in readers.dropFirst() { _ = state.step(reader, now: start) }
            #expect(readers.allSatisfy { state.readers[$0]?.fetch == fetch }, "premise: all wait for one answer")
            let information = ContentInformation(
                length: 10_000_000, type: nil, validators: Validators(), supportsRanges: true)
            _ = state.begin(information, keeping: fetch, isBound: true, connection: 1)
            let isShared = mode.stores
            #expect(state.readers[readers[0]]?.fetch == fetch && state.readers[readers[0]]?.isSeparate == false)
            #expect(readers.dropFirst().allSatisfy { (state.readers[$0]?.fetch == fetch) == isShared })
            #expect(readers.dropFirst().allSatisfy { state.readers[$0]?.isSeparate == !isShared })
            #expect(state.boundStep(for: 0..<10_000_000) == (isShared ? .share : .apart))
            _ = state.storeFailed(fetch, segment: nil, VaultError(.storage, "full"))
            #expect(state.boundStep(for: 0..<10_000_000) == .apart)
        }
    }

    @Test("A transfer goes on for a reader behind it when another leaves that has had enough of it")
    func readerBehind() throws {
        var (state, reader, fetch) = reading()
        state.isBound = true
        _ = state.received([UInt8](repeating: 7, count: 1000), by: fetch, now: start)
        var leaving = try #require(state.readers[reader])
        (leaving.position, leaving.end) = (10, 20)
        let transfer = try #require(state.fetches[fetch])
        #expect(state.isNeeded(transfer, leaving: leaving))
        leaving.end = 2000
        #expect(!state.isNeeded(transfer, leaving: leaving), "then it is the one that is counted")
    }

    @Test("A transfer that was cut off for another goes on to its end if it turns out that it alone can fill")
    func goesOn() {
        var (state, _, fetch) = reading()
        let other = state.addReader(5_000_000..<10_000_000)
        _ = state.step(other, now: start)
        #expect(state.fetches[fetch]?.end == 5_000_000, "premise")
        let information = ContentInformation(
            length: 10_000_000, type: nil, validators: Validators(), supportsRanges: true)
        _ = state.begin(information, keeping: fetch, isBound: true)
        #expect(state.fetches[fetch]?.end == 10_000_000)
    }

    @Test("A transfer runs at most one window ahead of its fastest reader")
    func window() {
        var (state, reader, fetch) = reading()
        var received: Int64 = 0
        while state.mayReceive(fetch, now: start) == true {
            _ = state.received([UInt8](repeating: 7, count: 16 << 10), by: fetch, now: start)
            received += 16 << 10
        }
        #expect(received == FetchState.leastWindow)
        #expect(FetchState.leastWindow == 64 << 10, "a player that probes a position and leaves costs no more")
        _ = state.advance(reader, to: 20_000)
        #expect(state.mayReceive(fetch, now: start) == true)
    }

    @Test("A reader that outruns its window gets a larger one, and loses it when it stops reading")
    func growingWindow() {
        var (state, reader, fetch) = reading(100_000_000)
        var position: Int64 = 0
        func fill() {
            while state.mayReceive(fetch, now: start) == true {
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
        var (state, reader, fetch) = reading()
        while state.mayReceive(fetch, now: start) == true {
            _ = state.received([UInt8](repeating: 7, count: 64 << 10), by: fetch, now: start)
        }
        _ = state.tick(now: start + .seconds(29))
        #expect(state.mayReceive(fetch, now: start + .seconds(29)) == false)
        _ = state.tick(now: start + .seconds(30))
        #expect(state.mayReceive(fetch, now: start + .seconds(30)) == nil)
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
        var (state, reader, fetch) = reading()
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
        var (state, _, fetch) = reading()
        let seek = state.addReader(9_000_000..<10_000_000)
        guard case (.fetch(let ahead), _) = state.step(seek, now: start) else {
            Issue.record("a seek must not wait for a transfer far behind it")
            return
        }
        #expect(state.fetches[fetch]?.end == 9_000_000 && state.fetches[ahead]?.start == 9_000_000)
    }

    @Test("Bytes that still arrive from a cancelled fetch are used up to the start of the next fetch")
    func lateBytes() {
        var (state, reader, fetch) = reading()
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
        var (state, reader, fetch) = reading()
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
        var (state, reader, fetch) = reading(20_000)
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
            state.map.put(
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
        #expect(opened(.from(0), age: 10) { $0.isPinned = true } == 0..<100)
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
            state.map.put(
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
