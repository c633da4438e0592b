import Foundation
import GRDB
import OriginTestSupport
import SeededRandom
import Synchronization
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

@Suite("A check runs beside other work")
struct VerifyRunTests {
    /// Returns a title of 20 segments with one block each.
    private func fragments() async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: 20 * 32_768))
        let vault = try await fixture.open()
        for number in Int64(0)..<20 {
            _ = try await fixture.read(vault, .closed(first: number * 32_768, last: (number + 1) * 32_768 - 1))
        }
        await vault.close()
        return fixture
    }

    @Test("Segments that an owner removes while a reader checks are not damage")
    func besideRemoval() async throws {
        let fixture = try await fragments()
        let (owner, reader) = (try await fixture.open(), try await fixture.open(.reader))
        let removed = Mutex(0)
        // So slow that a second step is reported between two segments.
        let options = VerifyOptions(bytesPerSecond: 32_768 * 5)
        var verifier = Verifier(loaders: reader.loaders, options: options) { step in
            guard step.segments == 2, removed.withLock({ $0 }) == 0 else { return }
            do {
                for segment in fixture.segmentFiles.compactMap({ SegmentID(hex: $0.lastPathComponent) }) {
                    try SegmentRows(owner.store.index).drop(segment, deletesFile: true)
                    removed.withLock { $0 += 1 }
                }
                try owner.store.removal.finish()
            } catch {
                Issue.record(error)
            }
        }
        try await verifier.run()
        #expect(removed.withLock { $0 } == 20)
        #expect(verifier.report.isSound && verifier.report.segments > 2)
        #expect(fixture.segmentFiles.isEmpty)
        await reader.close()
        await owner.close()
    }

    @Test("A reader that checks a title while the owner writes it finds no damage")
    func besideWriting() async throws {
        let gate = Gate()
        let fixture = try await VaultFixture(ScriptedResource(length: 12_000_000))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: 10_000_000)
            return answer
        }
        let owner = try await fixture.open()
        async let played = fixture.read(owner)
        await fixture.origin.wait { $0.first?.phase == .held }
        let reader = try await fixture.open(.reader)
        let report = try await VaultFixture.report(of: reader.checks.verify())
        #expect(report.isSound && report.orphans == VerifyReport.Orphans())
        await reader.close()
        gate.open()
        #expect(try await played == 0..<12_000_000)
        await owner.close()
    }

    @Test("Segments that a killed owner left open are salvaged, and are not damage", arguments: [false, true])
    func afterKill(isCut: Bool) async throws {
        let fixture = try await VaultFixture.filled()
        // As left by an owner that is killed before it commits: the row is behind the file, or ahead of it.
        try fixture.index {
            try $0.execute(sql: "UPDATE segment SET state = 'open', length = \(isCut ? 0 : 65536) WHERE start = 0")
        }
        if isCut { try FileManager.default.removeItem(atPath: try fixture.files()[0]) }
        let report = try await fixture.verify()
        #expect(report.isSound && report.orphans == VerifyReport.Orphans())
        #expect(try await fixture.verify(repairs: true).isSound)
        if !isCut { try await fixture.expectWholeOffline() }
    }

    @Test("A sample opens the requested share of segments", arguments: [5.0, 25, 26, 100])
    func sample(percent: Double) async throws {
        let fixture = try await fragments()
        let report = try await fixture.verify(sample: percent)
        let wanted = Int((20 * percent / 100).rounded(.up))
        #expect(report.segments == wanted && report.bytesOpened == Int64(wanted) * 32_768 && report.isSound)
    }

    @Test("Every segment is equally likely to be in a sample, and the sample has exactly the requested size")
    func fairSample() {
        let seed = UInt64.random(in: 0 ..< .max)
        var generator = SeededGenerator(seed: seed)
        var hits = [Int](repeating: 0, count: 10)
        for _ in 0..<4000 {
            var sample = SegmentSample(percent: 30, of: 10)
            let taken = (0..<10).filter { _ in sample.includesNext { UInt32.random(in: 0..<$0, using: &generator) } }
            #expect(taken.count == 3)
            for index in taken { hits[index] += 1 }
        }
        #expect(hits.allSatisfy { (1000...1400).contains($0) }, "\(hits), seed \(seed)")
    }

    @Test("A rate is kept, and idle time is not made up for")
    func pace() {
        var pace = VerifyPace(bytesPerSecond: 1000)
        let begin = ContinuousClock.now
        #expect(pace.delay(after: 500, now: begin) == .milliseconds(500))
        #expect(pace.delay(after: 500, now: begin + .milliseconds(500)) == .milliseconds(500))
        #expect(pace.delay(after: 500, now: begin + .milliseconds(600)) == .milliseconds(900))
        #expect(pace.delay(after: 1000, now: begin + .seconds(60)) == .seconds(1))
    }

    @Test("A cancelled check ends at once, and the vault closes")
    func cancelled() async throws {
        let fixture = try await fragments()
        let vault = try await fixture.open(.reader)
        let (steps, step) = AsyncStream<Void>.makeStream()
        let task = Task {
            // At this rate the check would sleep for hours.
            for try await _ in vault.checks.verify(VerifyOptions(bytesPerSecond: 1)) { step.yield() }
        }
        for await _ in steps { break }
        task.cancel()
        let result = await task.result
        #expect(throws: CancellationError.self) { try result.get() }
        await vault.close()
    }

    @Test("Closing a vault ends a check that is no longer iterated")
    func closed() async throws {
        let fixture = try await fragments()
        let vault = try await fixture.open()
        var iterator = vault.checks.verify(VerifyOptions(repairs: true, bytesPerSecond: 1)).makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        await vault.close()
        _ = try? await iterator.next()
        #expect(try await fixture.verify().isSound)
    }

    @Test("Progress grows, and its last step carries the report")
    func progress() async throws {
        let fixture = try await VaultFixture.filled(length: 4_000_000)
        let vault = try await fixture.open(.reader)
        var steps: [VerifyProgress] = []
        for try await step in vault.checks.verify() { steps.append(step) }
        await vault.close()
        #expect(steps.map(\.bytesOpened) == steps.map(\.bytesOpened).sorted())
        #expect(steps.allSatisfy { $0.bytesTotal == 4_000_000 && $0.segmentsTotal == 2 })
        #expect(steps.last?.report?.bytesOpened == 4_000_000 && steps.dropLast().allSatisfy { $0.report == nil })
    }

    @Test("A reader cannot repair, and invalid options are refused")
    func refused() async throws {
        let fixture = try await VaultFixture.filled()
        let reader = try await fixture.open(.reader)
        for options in [
            VerifyOptions(repairs: true), VerifyOptions(sample: 0), VerifyOptions(sample: 101),
            VerifyOptions(sample: .nan), VerifyOptions(bytesPerSecond: 0),
        ] {
            let error = await #expect(throws: VaultError.self) {
                _ = try await VaultFixture.report(of: reader.checks.verify(options))
            }
            #expect(error?.code == .invalidArgument)
        }
        await reader.close()
    }

    @Test("A report can be encoded and decoded, and contains no query")
    func written() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000))
        let vault = try await fixture.open()
        let url = fixture.origin.url("/film.mp4?token=geheim")
        for try await _ in try await vault.read(url) {}
        await vault.close()
        try fixture.change(fixture.files()[0]) { $0[88] ^= 1 }
        let report = try await fixture.verify()
        let text = String(decoding: try JSONEncoder().encode(report), as: UTF8.self)
        #expect(!text.contains("geheim") && text.contains("film.mp4"))
        #expect(try JSONDecoder().decode(VerifyReport.self, from: Data(text.utf8)) == report)
    }
}
