import Testing
import VaultModel

@testable import VaultCache

/// The work that a fetch's sealer receives, without a file.
@Suite("Loader state: which fetch seals which bytes")
struct LoaderSealingTests {
    private let start = ContinuousClock.now

    /// Returns a state with one transfer of the whole resource, from an origin without range support.
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

    /// Takes the bytes that a sealer receives; nil if it receives other work.
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

    @Test("After 5 s without a byte the short block is sealed once")
    func flush() {
        var (state, fetch) = fetching()
        _ = state.received([1, 2, 3], by: fetch, now: start)
        #expect(take(&state, fetch) == 0..<3, "received bytes are sealed")
        _ = state.tick(now: start + .seconds(4))
        guard case .wait = state.sealWork(fetch).0 else {
            Issue.record("nothing may be due yet")
            return
        }
        _ = state.tick(now: start + .seconds(5))
        guard case .close = state.sealWork(fetch).0 else {
            Issue.record("the segment must be closed")
            return
        }
        guard case .wait = state.sealWork(fetch).0 else {
            Issue.record("the segment must be closed only once")
            return
        }
    }

    @Test("Bytes that arrive again while an earlier fetch seals them are left to that fetch and skipped")
    func anothersBytes() throws {
        var (state, earlier) = fetching()
        _ = state.received([UInt8](repeating: 1, count: 40_000), by: earlier, now: start)
        #expect(take(&state, earlier) == 0..<40_000)
        // A full block can be opened; the sealer still has the short one.
        _ = state.sealed(try segment(1, 0..<32_768), by: earlier)
        _ = state.receiverEnded(earlier, nil, now: start, chance: 1)
        let later = addFetch(&state, 1_000_000)
        _ = state.received([UInt8](repeating: 1, count: 90_000), by: later, now: start)
        guard case .close = state.sealWork(later).0 else {
            Issue.record("held bytes must be skipped")
            return
        }
        guard case .wait = state.sealWork(later).0 else {
            Issue.record("the later fetch must wait for the short block")
            return
        }
        guard case .finish = state.sealWork(earlier).0 else {
            Issue.record("the earlier fetch must close its segment")
            return
        }
        let grown = try segment(1, 0..<40_000)
        _ = state.sealed(grown, by: earlier)
        guard case .close = state.sealWork(later).0 else {
            Issue.record("then the short block must be skipped as well")
            return
        }
        #expect(take(&state, later) == 40_000..<90_000)
    }

    @Test("An earlier fetch that still runs must seal its short block at once")
    func askedToSeal() throws {
        var (state, earlier) = fetching()
        _ = state.received([1, 2, 3], by: earlier, now: start)
        #expect(take(&state, earlier) == 0..<3)
        let later = addFetch(&state, 1_000_000)
        _ = state.received([1, 2, 3, 4], by: later, now: start)
        #expect(take(&state, later) == nil)
        guard case .close = state.sealWork(earlier).0 else {
            Issue.record("the short block must be sealed before it is due")
            return
        }
    }

    @Test("If the earlier fetch's bytes are discarded, the later fetch seals them")
    func refusedBytes() throws {
        var (state, earlier) = fetching()
        _ = state.received([1, 2, 3], by: earlier, now: start)
        let later = addFetch(&state, 1_000_000)
        _ = state.received([1, 2, 3, 4], by: later, now: start)
        guard case .wait = state.sealWork(later).0 else {
            Issue.record("the later fetch must leave the bytes to the earlier one")
            return
        }
        _ = state.fetches.discard { $0.id == earlier }
        #expect(take(&state, later) == 0..<4)
    }
}
