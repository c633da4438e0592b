import MediaVault
import OriginTestSupport
import SeededRandom
import Testing

@testable import VaultCache

@Suite("Playback")
struct PlaybackTests {
    @Test("Playing a remote title leaves a local copy, and the second time no request is sent")
    func playTwice() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 3_000_017))
        let first = try await fixture.open()
        #expect(try await fixture.read(first) == 0..<3_000_017)
        #expect(try await first.status().bytesFetched == 3_000_017)
        await first.close()
        #expect(fixture.ranges == ["bytes=0-"])

        fixture.origin.stop()
        let second = try await fixture.open()
        #expect(try await fixture.read(second) == 0..<3_000_017)
        #expect(try await fixture.held(second) == [0..<3_000_017])
        #expect(try await second.status().bytesFetched == 3_000_017)
        await second.close()
    }

    @Test("Held bytes come from the store, and the rest from the network at the advanced offset")
    func gapsOnly() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 400_000))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        #expect(try await fixture.read(vault, .closed(first: 0, last: 199_999)) == 0..<200_000)
        #expect(fixture.ranges == ["bytes=0-99999", "bytes=100000-199999"])
        #expect(try await vault.status().bytesFetched == 200_000)
        await vault.close()
        #expect(fixture.bytesSent == 200_000)
    }

    @Test("A range apart from the held bytes is kept, and a later request fetches only the gap between")
    func rangesApart() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 500_000))
        let vault = try await fixture.open()
        _ = try await fixture.read(vault, .closed(first: 0, last: 99_999))
        _ = try await fixture.read(vault, .closed(first: 150_000, last: 199_999))
        await vault.close()

        let again = try await fixture.open()
        #expect(try await fixture.held(again) == [0..<100_000, 150_000..<200_000])
        #expect(try await fixture.read(again) == 0..<500_000)
        #expect(fixture.ranges == ["bytes=0-99999", "bytes=150000-199999", "bytes=100000-149999", "bytes=200000-"])
        #expect(try await again.status().bytesFetched == 500_000)
        await again.close()
    }

    @Test("Every form of range yields exactly its bytes: first, last, both, suffix, past the end")
    func requestForms() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_001))
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 0)) == 0..<1)
        #expect(try await fixture.read(vault, .suffix(1)) == 100_000..<100_001)
        #expect(try await fixture.read(vault, .closed(first: 99_999, last: 500_000)) == 99_999..<100_001)
        #expect(try await fixture.read(vault, .from(100_000)) == 100_000..<100_001)
        #expect(try await fixture.read(vault, .suffix(1_000_000)) == 0..<100_001)
        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url, range: .from(100_001)) }
        #expect(error?.code == .unsatisfiableRange && error?.length == 100_001)
        #expect(try await vault.status().bytesFetched == 100_001)
        await vault.close()
    }

    @Test(
        "A player's pattern of probe, open-ended request, cancel and seek fetches no byte twice")
    func playersPattern() async throws {
        let total: Int64 = 6_000_000
        let fixture = try await VaultFixture(ScriptedResource(length: total))
        let vault = try await fixture.open()
        func start(_ range: RequestedRange, bytes: Int64) async throws {
            let reader = try await vault.read(fixture.url, range: range)
            var position = reader.range?.lowerBound ?? 0
            let end = position + bytes
            while position < end, let chunk = try await reader.next() {
                #expect(fixture.media.matches(chunk, at: position))
                position += Int64(chunk.count)
            }
            reader.cancel()
        }
        try await start(.closed(first: 0, last: 1), bytes: 2)
        try await start(.closed(first: 0, last: total - 1), bytes: 700_000)
        try await start(.closed(first: 700_000, last: total - 1), bytes: 300_000)
        try await start(.closed(first: 5_000_000, last: total - 1), bytes: 200_000)
        #expect(try await fixture.read(vault) == 0..<total)
        #expect(try await vault.status().bytesFetched == total)
        await vault.close()
    }

    @Test("If a reader leaves in the middle of a block, no received byte is lost")
    func cancelKeepsTheShortBlock() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 200_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 50_001)
            return answer
        }
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url)
        var count: Int64 = 0
        while count < 50_001, let bytes = try await reader.next() { count += Int64(bytes.count) }
        #expect(count == 50_001)
        reader.cancel()
        await vault.close()

        let again = try await fixture.open(.reader)
        #expect(try await fixture.held(again) == [0..<50_001])
        await again.close()
    }

    @Test("Two hundred random seeks fetch the union of their ranges, small gaps as blocks, and each byte once")
    func randomSeeks() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let length: Int64 = 5_000_000
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        var wanted = ByteRanges()
        for _ in 0..<200 {
            let first = Int64.random(in: 0..<length, using: &random)
            let last = min(length - 1, first + Int64.random(in: 0..<60_000, using: &random))
            #expect(try await fixture.read(vault, .closed(first: first, last: last)) == first..<(last + 1))
            for gap in wanted.gaps(in: first..<(last + 1)) {
                // The title was unknown when the first range was requested.
                let asked =
                    wanted.isEmpty
                    ? gap : LoadPlan.extendedToBlocks(gap, block: 32 << 10, there: wanted, length: length)
                wanted.insert(contentsOf: asked)
            }
        }
        // The rest of the last range's block may still be in flight.
        try await vault.waitUntilFetched(wanted.byteCount)
        #expect(try await vault.status().bytesFetched == wanted.byteCount)
        #expect(fixture.bytesSent == wanted.byteCount)
        await vault.close()
        let again = try await fixture.open(.reader)
        #expect(try await fixture.held(again) == Array(wanted.ranges))
        await again.close()
    }

    @Test("Eight readers of one title share one transfer")
    func sharedTransfer() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 4_000_000))
        let vault = try await fixture.open()
        try await withThrowingTaskGroup(of: ByteRange.self) { group in
            for _ in 0..<8 { group.addTask { try await fixture.read(vault) } }
            for try await range in group { #expect(range == 0..<4_000_000) }
        }
        #expect(try await vault.status().bytesFetched == 4_000_000)
        #expect(fixture.bytesSent == 4_000_000)
        await vault.close()
    }

    @Test("A seek far ahead starts its own transfer at once, and the first transfer stops where the new one began")
    func seekAhead() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 8_000_000))
        let vault = try await fixture.open()
        let player = try await vault.read(fixture.url)
        _ = try await player.next()
        #expect(try await fixture.read(vault, .from(6_000_000)) == 6_000_000..<8_000_000)
        var position: Int64 = 65_536
        while let bytes = try await player.next() { position += Int64(bytes.count) }
        #expect(try await vault.status().bytesFetched == 8_000_000)
        await vault.close()
    }
}
