import Testing
import VaultModel

@testable import MediaVault

/// What a fetch's sealer is given to do, without a file.
@Suite("Loader state: what is sealed, and by whom")
struct LoaderSealingTests {
    private let start = ContinuousClock.now

    /// A state with one transfer of everything, from an origin that cannot jump.
    private func fetching(_ length: Int64 = 1_000_000) -> (LoaderState, FetchState.ID) {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(
                length: length, type: nil, validators: Validators(entityTag: EntityTag(strong: "1")),
                supportsRanges: false))
        let fetch = addFetch(&state, length)
        return (state, fetch)
    }

    private func addFetch(_ state: inout LoaderState, _ length: Int64) -> FetchState.ID {
        let fetch = state.addFetch(0..<length, now: start)
        _ = state.accept(fetch, end: length, fromZero: true)
        return fetch
    }

    /// Takes the bytes that a sealer is given; nil where it is given other work.
    private func take(_ state: inout LoaderState, _ fetch: FetchState.ID) -> ByteRange? {
        guard case .seal(let bytes, let offset) = state.sealWork(fetch).0 else { return nil }
        return offset..<offset + Int64(bytes.count)
    }

    private func segment(_ number: UInt8, _ range: ByteRange) throws -> SegmentDescription {
        SegmentDescription(
            id: try #require(SegmentID(bytes: [UInt8](repeating: number, count: SegmentKind.byteCount))),
            representation: try #require(
                RepresentationID(bytes: [UInt8](repeating: 1, count: RepresentationKind.byteCount))),
            keyNumber: 1, blockSize: 32 << 10, start: range.lowerBound, length: range.length)
    }

    @Test("After 5 s without a byte the short block is sealed, once")
    func flush() {
        var (state, fetch) = fetching()
        _ = state.received([1, 2, 3], by: fetch, now: start)
        #expect(take(&state, fetch) == 0..<3, "bytes that came are sealed")
        _ = state.tick(now: start + .seconds(4))
        guard case .wait = state.sealWork(fetch).0 else {
            Issue.record("nothing is due yet")
            return
        }
        _ = state.tick(now: start + .seconds(5))
        guard case .close = state.sealWork(fetch).0 else {
            Issue.record("the segment is closed")
            return
        }
        guard case .wait = state.sealWork(fetch).0 else {
            Issue.record("it is closed once")
            return
        }
    }

    @Test("Bytes that come again while an earlier fetch seals them are left to it, and passed over")
    func anothersBytes() throws {
        var (state, earlier) = fetching()
        _ = state.received([UInt8](repeating: 1, count: 40_000), by: earlier, now: start)
        #expect(take(&state, earlier) == 0..<40_000)
        // A whole block can be opened; the short one is with the sealer.
        _ = state.sealed(try segment(1, 0..<32_768), by: earlier)
        _ = state.receiverEnded(earlier, nil, now: start, chance: 1)
        let later = addFetch(&state, 1_000_000)
        _ = state.received([UInt8](repeating: 1, count: 90_000), by: later, now: start)
        guard case .close = state.sealWork(later).0 else {
            Issue.record("what is held is passed over")
            return
        }
        guard case .wait = state.sealWork(later).0 else {
            Issue.record("the short block is waited for")
            return
        }
        guard case .finish = state.sealWork(earlier).0 else {
            Issue.record("the earlier fetch closes its segment")
            return
        }
        let grown = try segment(1, 0..<40_000)
        _ = state.sealed(grown, by: earlier)
        guard case .close = state.sealWork(later).0 else {
            Issue.record("then it is passed over, too")
            return
        }
        #expect(take(&state, later) == 40_000..<90_000)
    }

    @Test("An earlier fetch that still runs is asked to seal its short block at once")
    func askedToSeal() throws {
        var (state, earlier) = fetching()
        _ = state.received([1, 2, 3], by: earlier, now: start)
        #expect(take(&state, earlier) == 0..<3)
        let later = addFetch(&state, 1_000_000)
        _ = state.received([1, 2, 3, 4], by: later, now: start)
        #expect(take(&state, later) == nil)
        guard case .close = state.sealWork(earlier).0 else {
            Issue.record("the short block is sealed before it is due")
            return
        }
    }

    @Test("Where the earlier fetch's bytes are refused, the later one seals them")
    func refusedBytes() throws {
        var (state, earlier) = fetching()
        _ = state.received([1, 2, 3], by: earlier, now: start)
        let later = addFetch(&state, 1_000_000)
        _ = state.received([1, 2, 3, 4], by: later, now: start)
        guard case .wait = state.sealWork(later).0 else {
            Issue.record("an earlier fetch seals them")
            return
        }
        _ = state.discard([earlier])
        #expect(take(&state, later) == 0..<4)
    }
}
