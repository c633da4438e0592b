import Testing
import VaultModel

@testable import VaultCache

/// As ``LoaderStateTests``, for representations that one connection alone may fill.
@Suite("Loader state: decisions about a title whose versions nothing tells apart")
struct BoundStateTests {
    private let start = ContinuousClock.now

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
        var (state, _, _) = LoaderState.reading(now: start)
        state.known.isBound = true
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
        while state.fetches.mayReceive(own, now: start) == true {
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
            state.known.isBound = true
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
        var (state, _, fetch) = LoaderState.reading(now: start)
        state.known.isBound = true
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
        var (state, slow, fetch) = LoaderState.reading(now: start)
        let fast = state.addReader(0..<10_000_000)
        _ = state.step(fast, now: start)
        state.known.isBound = true
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
        #expect(state.fetches.mayReceive(fetch, now: start) == true, "and holds back nobody")
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
        var (state, reader, fetch) = LoaderState.reading(now: start)
        state.known.isBound = true
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
        var (state, _, fetch) = LoaderState.reading(now: start)
        let other = state.addReader(5_000_000..<10_000_000)
        _ = state.step(other, now: start)
        #expect(state.fetches[fetch]?.end == 5_000_000, "premise")
        let information = ContentInformation(
            length: 10_000_000, type: nil, validators: Validators(), supportsRanges: true)
        _ = state.begin(information, keeping: fetch, isBound: true)
        #expect(state.fetches[fetch]?.end == 10_000_000)
    }

    @Test("A reader of an unstored title who is given everything in place of a range gets everything")
    func wholeUnstored() throws {
        let (first, length): (Int64, Int64) = (3 * FetchState.mostBehind, 4 * FetchState.mostBehind)
        var state = LoaderState(mode: .online)
        let reader = state.addReader(first..<Int64.max)
        _ = state.step(reader, now: start)
        let fetch = try #require(state.readers[reader]?.fetch)
        let information = ContentInformation(
            length: length, type: nil, validators: Validators(), supportsRanges: false)
        let refusal = VaultError(.quotaExceeded, "no space")
        _ = state.begin(information, keeping: fetch, isBound: true, connection: 1, refused: refusal)
        _ = state.accept(fetch, end: length, fromZero: true)
        _ = state.step(reader, now: start)
        while state.fetches[fetch].map({ $0.present <= first }) == true {
            let bytes = [UInt8](repeating: 1, count: 1 << 20)
            _ = state.received(bytes, by: fetch, now: start)
        }
        let isPlaced = state.place(reader, 0..<length, of: state.readers.edition, isWhole: true)
        #expect(isPlaced)
        for chunk in 0..<2 {
            guard case (.take(let bytes), _) = state.step(reader, now: start) else {
                Issue.record("chunk \(chunk) is gone")
                return
            }
            _ = state.advance(reader, to: Int64(chunk * bytes.count + bytes.count))
        }
    }

    @Test("A reader that comes while a representation begins shares its transfer only if that brings all it wants")
    func newcomer() throws {
        var state = LoaderState(mode: .online)
        let first = state.addReader(0..<100_000)
        _ = state.step(first, now: start)
        let fetch = try #require(state.readers[first]?.fetch)
        let (beyond, behind) = (state.addReader(50_000..<200_000), state.addReader(150_000..<200_000))
        state.fetches[fetch]?.statedEnd = 100_000
        let information = ContentInformation(
            length: 1_000_000, type: nil, validators: Validators(), supportsRanges: true)
        _ = state.begin(information, keeping: fetch, isBound: true, connection: 1)
        #expect(state.readers[beyond]?.isSeparate == true && state.readers[first]?.isSeparate == false)
        #expect(state.readers[behind]?.isSeparate == false, "its own transfer may fill, too")
    }

    @Test("A reader begins with no range of which something would be missing that no other connection may bring")
    func incomplete() {
        var (state, reader, fetch) = LoaderState.reading(now: start)
        state.known.isBound = true
        let begins = { (isCut: Bool) in
            state.place(reader, 0..<10_000_000, of: state.readers.edition, isWhole: true, isCut: isCut)
        }
        #expect(begins(false), "premise: its transfer brings everything")
        state.fetches[fetch]?.end = 5_000_000
        #expect(!begins(false))
        #expect(begins(true), "it ends where the bytes do")
        state.readers[reader]?.isSeparate = true
        #expect(begins(false), "a transfer of its own goes on to its end")
    }

    @Test("A reader that has taken all of its transfer goes on with it, not with one whose answer has not come")
    func ownTransfer() throws {
        // Which transfer is found first depends on their ids.
        for number in 1...16 {
            var state = LoaderState(mode: .online)
            state.lastID = number
            let information = ContentInformation(
                length: 10_000_000, type: nil, validators: Validators(), supportsRanges: true)
            _ = state.learn(information)
            (state.known.isBound, state.known.connection) = (true, 1)
            let reader = state.addReader(0..<10_000_000)
            _ = state.step(reader, now: start)
            let own = try #require(state.readers[reader]?.fetch)
            _ = state.accept(own, end: 10_000_000, fromZero: false)
            let first = 2 * FetchState.reach
            let brief = state.addReader(first..<first + 10)
            _ = state.step(brief, now: start)
            let other = try #require(state.readers[brief]?.fetch)
            try #require(other != own, "premise: it is far away")
            _ = state.received([UInt8](repeating: 7, count: Int(first) + 20), by: own, now: start)
            _ = state.advance(reader, to: first + 20)
            _ = state.removeReader(brief)
            _ = state.step(reader, now: start)
            #expect(state.readers[reader]?.fetch == own && state.fetches[own]?.isActive == true)
        }
    }
}
