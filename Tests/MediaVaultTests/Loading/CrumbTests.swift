import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultCache

@Suite("Tiny requests and tiny answers do not create many files", .timeLimit(.minutes(2)))
struct CrumbTests {
    private static let block: Int64 = 32 << 10

    @Test("A range smaller than a block is extended to the block, and no byte is fetched twice")
    func extendedToBlocks() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 200_000))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .closed(first: 100_000, last: 149_999)) == 100_000..<150_000)
        for (first, last) in [(10, 10), (5, 20), (32_760, 32_770), (150_000, 150_000), (199_999, 199_999)] {
            let range = RequestedRange.closed(first: Int64(first), last: Int64(last))
            #expect(try await fixture.read(vault, range) == Int64(first)..<Int64(last) + 1)
        }
        #expect(
            fixture.ranges == [
                "bytes=100000-149999", "bytes=0-32767", "bytes=32768-65535", "bytes=150000-163839",
                "bytes=196608-",
            ])
        #expect(try await fixture.read(vault) == 0..<200_000)
        #expect(fixture.bytesSent == 200_000)
        await vault.close()
    }

    @Test("Requests for one byte of each block create at most one file per block, and few after they are joined")
    func oneByteQuestions() async throws {
        let length: Int64 = 64 * Self.block
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        for block in 0..<Int64(64) {
            for byte in [0, 9, 32_767] {
                let first = block * Self.block + Int64(byte)
                #expect(try await fixture.read(vault, .closed(first: first, last: first)).length == 1)
            }
        }
        let reader = try await vault.read(fixture.url)
        var position: Int64 = 0
        func read(to end: Int64) async throws {
            while position < end, let bytes = try await reader.next() {
                #expect(fixture.media.matches(bytes, at: position))
                position += Int64(bytes.count)
            }
        }
        try await read(to: 3 * Self.block)
        #expect(fixture.segmentFiles.count <= 65)
        let loader = try #require(vault.loaders.all.first)
        await loader.settle()
        await vault.joinAll(of: loader)
        #expect(fixture.segmentFiles.count == 1, "an active reader does not prevent joining")
        try await read(to: length)
        #expect(position == length && fixture.bytesSent == length)
        await vault.close()
        let again = try await fixture.open(.reader)
        #expect(try await fixture.held(again) == [0..<length])
        #expect(try await fixture.read(again) == 0..<length)
        await again.close()
    }

    // MARK: Answers

    /// Returns a state that knows a title, and an active reader of the whole title.
    private func reading(_ length: Int64) -> (LoaderState, ReaderState.ID) {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(length: length, type: nil, validators: Validators(), supportsRanges: true))
        let reader = state.addReader(0..<length)
        state.begin(reader, isDownload: false)
        return (state, reader)
    }

    @Test("An origin that answers each large request with one byte counts as failing, and the reader gives up")
    func oneByteAnswers() {
        var (state, reader) = reading(1_000_000)
        let start = ContinuousClock.now
        var (now, questions, isTold) = (start, 0, false)
        while !isTold, questions < 1000 {
            let (step, effects) = state.step(reader, now: now)
            switch step {
            case .take(let bytes):
                let position = state.readers[reader]?.position ?? 0
                _ = state.advance(reader, to: position + Int64(bytes.count))
            case .fetch(let fetch):
                questions += 1
                let first = state.fetches[fetch]?.start ?? 0
                _ = state.accept(fetch, end: first + 1, fromZero: false)
                _ = state.received([1], by: fetch, now: now)
                _ = state.receiverEnded(fetch, nil, now: now, chance: 1)
                _ = state.step(reader, now: now)
                _ = state.advance(reader, to: first + 1)
                _ = state.remove(fetch)
            case .failed(let failure):
                isTold = true
                #expect(failure.isInterruption)
            default: now = effects.alarms.first?.time ?? now + .seconds(1)
            }
        }
        #expect(isTold && questions <= 30 && now - start >= state.retry.policy.patience)
    }

    @Test("After its readers left, a block that drips in is abandoned, and only a few such blocks may continue at all")
    func leftAlone() {
        var (state, _) = reading(100_000_000)
        var (now, cancelled) = (ContinuousClock.now, 0)
        for number in 1...20 {
            let first = Int64(number) * 1_000_000
            let reader = state.addReader(first..<first + 1)
            guard case (.fetch(let fetch), _) = state.step(reader, now: now), let range = state.fetches[fetch] else {
                Issue.record("the reader must start a fetch")
                return
            }
            #expect(range.isExtendedToBlocks)
            _ = state.accept(fetch, end: range.end, fromZero: false)
            _ = state.received([1], by: fetch, now: now)
            cancelled += state.removeReader(reader).cancelled.count
        }
        #expect(cancelled >= 20 - FetchState.mostLeft && cancelled < 20)
        for _ in 0..<4 {
            cancelled += state.tick(now: now).cancelled.count
            now += .seconds(1)
        }
        #expect(cancelled == 20 && !state.fetches.values.contains(where: \.isActive))
    }

    @Test("If its reader leaves, a block fetched for one byte is completed, and a larger range is cancelled")
    func leavingReader() {
        for (range, isReleased) in [(10..<11, false), (0..<100_000, true)] as [(ByteRange, Bool)] {
            var (state, _) = reading(200_000)
            let reader = state.addReader(range)
            guard case (.fetch(let fetch), _) = state.step(reader, now: .now) else {
                Issue.record("the reader must start a fetch")
                return
            }
            _ = state.accept(fetch, end: state.fetches[fetch]?.end, fromZero: false)
            _ = state.received([UInt8](repeating: 1, count: 1000), by: fetch, now: .now)
            #expect(state.removeReader(reader).cancelled == (isReleased ? [fetch] : []))
        }
    }

    @Test("A short answer at the end of a title or to a small request is not a failure", arguments: [10, 40_000])
    func shortEnd(count: Int64) {
        var (state, reader) = reading(count)
        guard case (.fetch(let fetch), _) = state.step(reader, now: .now) else {
            Issue.record("the reader must start a fetch")
            return
        }
        _ = state.accept(fetch, end: count, fromZero: false)
        _ = state.received([UInt8](repeating: 1, count: Int(count)), by: fetch, now: .now)
        _ = state.receiverEnded(fetch, nil, now: .now, chance: 1)
        #expect(!state.retry.isFailing)
    }
}
