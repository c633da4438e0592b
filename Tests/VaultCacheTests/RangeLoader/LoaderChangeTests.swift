import Testing
import VaultModel
import VaultStorage

@testable import VaultCache

@Suite("Loader state: what becomes of readers when the content changes")
struct LoaderChangeTests {
    private let start = ContinuousClock.now
    private let length: Int64 = 10_000_000

    private func version(_ number: Int, length: Int64? = nil) -> ContentInformation {
        ContentInformation(
            length: length ?? self.length, type: nil,
            validators: Validators(entityTag: EntityTag(strong: "\(number)")),
            supportsRanges: true)
    }

    /// Returns a state with readers that have begun with a transfer of everything, at these positions, and how much of
    /// it has come.
    private func reading(
        at positions: [Int64], received: Int64
    ) -> (state: LoaderState, readers: [ReaderState.ID], fetch: FetchState.ID) {
        var state = LoaderState(mode: .online)
        _ = state.learn(version(1))
        let readers = positions.map { _ in state.addReader(0..<length) }
        var fetch = 0
        for reader in readers {
            if case (.fetch(let id), _) = state.step(reader, now: start) { fetch = id }
        }
        _ = state.accept(fetch, end: length, fromZero: false)
        _ = state.received([UInt8](repeating: 7, count: Int(received)), by: fetch, now: start)
        for (reader, position) in zip(readers, positions) {
            _ = state.step(reader, now: start)
            _ = state.advance(reader, to: position)
        }
        return (state, readers, fetch)
    }

    /// Returns a state with readers that wait for the answer to one request.
    private func asking(_ ranges: ByteRange...) throws -> (LoaderState, [ReaderState.ID], FetchState.ID) {
        var state = LoaderState(mode: .online)
        _ = state.learn(version(1))
        let readers = ranges.map { state.addReader($0) }
        for reader in readers { _ = state.step(reader, now: start) }
        let fetch = try #require(state.readers[readers[0]]?.fetch, "premise: it must ask")
        #expect(readers.allSatisfy { state.readers[$0]?.fetch == fetch }, "premise")
        return (state, readers, fetch)
    }

    @Test("A reader that has begun gets what its transfer brings, to its end, and nothing of that is stored any more")
    func keepsTransfer() throws {
        var (state, readers, fetch) = reading(at: [30_000], received: 60_000)
        // Another reader's transfer would have brought the rest.
        _ = state.step(state.addReader(5_000_000..<length), now: start)
        #expect(state.fetches[fetch]?.end == 5_000_000, "premise")
        _ = state.begin(version(2), keeping: nil, isBound: false)
        let kept = try #require(state.fetches[fetch])
        #expect(kept.isSeparate && kept.end == length && state.fetches.count == 1)
        let late = SegmentDescription(
            id: try #require(SegmentID(bytes: Array(repeating: 1, count: 16))),
            representation: try #require(RepresentationID(bytes: Array(repeating: 2, count: 16))),
            keyNumber: 1,
            blockSize: 32_768, start: 0, length: 32_768)
        _ = state.sealed(late, by: fetch)
        #expect(state.known.map.covered.isEmpty, "what is sealed late is of the version before")
        guard case (.take(let bytes), _) = state.step(readers[0], now: start) else {
            Issue.record("it must go on")
            return
        }
        #expect(bytes.count == 30_000)
        guard case (.close, _) = state.sealWork(fetch), case (.wait, _) = state.sealWork(fetch) else {
            Issue.record("nothing more is sealed")
            return
        }
    }

    @Test("One that lags behind its transfer, fills the vault, or waits for another answer is opened again")
    func opensAgain() {
        for isFilling in [false, true] {
            var (state, readers, fetch) = reading(at: [0, 60_000], received: 60_000)
            if isFilling { state.readers[readers[1]]?.isFilling = true }
            _ = state.begin(version(2), keeping: nil, isBound: false)
            for (reader, isKept) in zip(readers, [false, !isFilling]) {
                #expect(state.readers[reader]?.isSeparate == isKept)
                #expect((state.readers[reader]?.fetch).flatMap { state.fetches[$0] }?.id == (isKept ? fetch : nil))
                if !isKept, case (.changed, _) = state.step(reader, now: start) { continue }
                #expect(isKept)
            }
        }
    }

    @Test("Those that waited for the answer which shows the change read it, if it brings all that they want")
    func follows() throws {
        for (first, supportsRanges) in [(5_000_000, true), (0, false)] as [(Int64, Bool)] {
            var (state, readers, fetch) = try asking(first..<5_100_000, first..<length)
            var newer = version(2, length: 20_000_000)
            newer.supportsRanges = supportsRanges
            state.fetches[fetch]?.statedEnd = 5_100_000
            _ = state.begin(newer, keeping: fetch, isBound: false)
            #expect(
                state.readers[readers[0]]?.edition == state.readers.edition, "its first byte is the first of the answer"
            )
            #expect(state.readers[readers[1]]?.edition != state.readers.edition)
        }
        var (state, readers, fetch) = try asking(5_000_000..<length)
        var newer = version(2)
        newer.supportsRanges = false
        _ = state.begin(newer, keeping: fetch, isBound: false)
        #expect(
            state.readers[readers[0]]?.edition != state.readers.edition, "an answer without ranges begins at byte 0")
    }

    @Test("What follows in a title that has grown comes with the same answer")
    func grown() throws {
        var (state, readers, fetch) = try asking(5_000_000..<length)
        state.fetches[fetch]?.statedEnd = 20_000_000
        _ = state.begin(version(2, length: 20_000_000), keeping: fetch, isBound: false)
        _ = state.accept(fetch, end: 20_000_000, fromZero: false)
        #expect(state.fetches[fetch]?.end == 20_000_000 && state.readers[readers[0]]?.edition == state.readers.edition)
    }

    @Test("A reader is not left on a transfer whose answer does not bring all that it wants")
    func tooShort() {
        for (stated, end, isKept) in [
            (length, 5_000_000, true), (5_000_000, 5_000_000, false), (length, 60_000, false),
        ] as [(Int64, Int64, Bool)] {
            var (state, readers, fetch) = reading(at: [30_000], received: 60_000)
            state.fetches[fetch]?.statedEnd = stated
            state.fetches[fetch]?.end = end
            _ = state.begin(version(2), keeping: nil, isBound: false)
            #expect(state.readers[readers[0]]?.isSeparate == isKept && (state.fetches[fetch] != nil) == isKept)
        }
    }

    @Test("Readers that are left on one transfer have their bytes, and the slowest holds up neither it nor the others")
    func slowest() throws {
        var (state, readers, fetch) = reading(at: [10_000, 60_000], received: 60_000)
        _ = state.begin(version(2), keeping: nil, isBound: false)
        try #require(readers.allSatisfy { state.readers[$0]?.isSeparate == true })
        func go(to end: Int64) {
            while state.fetches[fetch].map({ $0.present < end }) ?? false {
                #expect(state.fetches.mayReceive(fetch, now: start) == true)
                _ = state.received([UInt8](repeating: 7, count: 60_000), by: fetch, now: start)
                _ = state.advance(readers[1], to: state.fetches[fetch]?.present ?? 0)
            }
        }
        go(to: 3_000_000)
        guard case (.take, _) = state.step(readers[0], now: start) else {
            Issue.record("its bytes are gone")
            return
        }
        go(to: 6_000_000)
        guard case (.changed, let effects) = state.step(readers[0], now: start) else {
            Issue.record("nothing brings its bytes")
            return
        }
        #expect(effects.cancelled.isEmpty && state.readers[readers[0]]?.fetch == nil)
        #expect(state.readers[readers[1]]?.fetch == fetch)
        #expect(!state.removeReader(readers[1]).cancelled.isEmpty, "then nobody needs it")
    }

    @Test("A reader is promised no range of a version that began after its answer, even if it is apart")
    func promises() {
        for isApart in [false, true] {
            var (state, _, _) = reading(at: [60_000], received: 60_000)
            let reader = isApart ? state.addSeparateReader(0..<length) : state.addReader(0..<length)
            let isPromised = state.place(reader, 0..<length, of: state.readers.edition, isWhole: false)
            _ = state.begin(version(2, length: length + 1000), keeping: nil, isBound: false)
            let isPromisedMore = state.place(reader, 0..<length + 1000, of: state.readers.edition, isWhole: false)
            #expect(isPromised && !isPromisedMore)
        }
    }

    @Test("Why bytes of an earlier version are not stored is said in a word of its own")
    func bypass() {
        var (state, _, _) = reading(at: [60_000], received: 60_000)
        let reader = state.addSeparateReader(0..<length)
        #expect(state.bypass(reader) == .changing)
        state.known.isBound = true
        #expect(state.bypass(reader) == .unverifiable)
    }
}
