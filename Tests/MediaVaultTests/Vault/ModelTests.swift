import Foundation
import MediaVault
import OriginTestSupport
import SeededRandom
import Synchronization
import Testing

/// A seeded random walk through a vault's life, checked against every version of every title.
@Suite("A model of the vault", .timeLimit(.minutes(10)))
struct ModelTests {
    @Test("Every read returns right bytes of one version, or an error that the simulated world explains")
    func walk() async throws {
        let given = ProcessInfo.processInfo.environment["MEDIAVAULT_MODEL_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("ModelTests.walk: seed \(seed)")
        let walk = try await ModelWalk(seed: seed)
        for step in 0..<2000 {
            try await walk.step()
            if let mistake = walk.mistake {
                Issue.record("seed \(seed), step \(step): \(mistake)")
                break
            }
        }
        await walk.end()
        #expect(walk.counts.reads > 500 && walk.counts.bytes > 50_000_000, "the walk read enough: \(walk.counts)")
        #expect(walk.counts.explained < walk.counts.reads, "some reads return bytes: \(walk.counts)")
    }
}

/// The simulated world: titles that change at an unreliable origin, and a vault that is opened and closed.
private final class ModelWalk {
    struct Counts {
        var reads = 0
        var bytes: Int64 = 0
        /// The number of reads that ended with an error.
        var explained = 0
    }

    private let fixture: VaultFixture
    private let origin: ChangingOrigin
    private var random: SeededGenerator
    private var vault: Vault
    private var isOffline = false
    private(set) var counts = Counts()
    private(set) var mistake: String?

    private static let titles = 4

    init(seed: UInt64) async throws {
        random = SeededGenerator(seed: seed)
        var versions: [[ScriptedResource]] = []
        for title in 0..<Self.titles {
            versions.append([Self.version(title, 0, length: .random(in: 1...1_500_000, using: &random))])
        }
        fixture = try await VaultFixture(versions[0][0])
        origin = ChangingOrigin(versions)
        vault = try await Self.open(fixture, .online)
        fixture.origin.answer { [origin] in origin.answer(to: $0) }
    }

    private static func open(_ fixture: VaultFixture, _ mode: VaultMode) async throws -> Vault {
        var options = VaultOptions(mode: mode)
        options.retry.patience = .milliseconds(300)
        options.retry.downloadTimeLimit = .milliseconds(300)
        options.retry.openingTimeLimit = .milliseconds(20)
        options.retry.firstDelay = .milliseconds(5)
        options.retry.attemptsPerMinute = 1000
        return try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
    }

    private static func version(_ title: Int, _ number: Int, length: Int64) -> ScriptedResource {
        ScriptedResource(seed: UInt64(title * 1000 + number + 1), length: length, entityTag: "\"\(title)-\(number)\"")
    }

    private func url(_ title: Int) -> MediaURL { fixture.origin.url("/\(title).mp4") }

    // MARK: Steps

    func step() async throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<60:
            let title = Int.random(in: 0..<Self.titles, using: &random)
            try await read(title, part: .random(in: 0...1, using: &random))
        case 60..<72: try await readTogether()
        case 72..<80: try await downloadBesidePlayer()
        case 80..<85: change()
        case 85..<89: makeTrouble()
        case 89..<92: try toggleOrigin()
        case 92..<96: try await evict()
        default: try await restart()
        }
    }

    func end() async {
        await vault.close()
    }

    private func change() {
        let title = Int.random(in: 0..<Self.titles, using: &random)
        let length = Int64.random(in: 1...1_500_000, using: &random)
        origin.world.withLock {
            $0.versions[title].append(Self.version(title, $0.versions[title].count, length: length))
        }
    }

    private func makeTrouble() {
        let count = Int.random(in: 1...3, using: &random)
        origin.world.withLock { $0.trouble = count }
    }

    private func toggleOrigin() throws {
        let isDown = origin.world.withLock { world in
            world.isDown.toggle()
            return world.isDown
        }
        if isDown { fixture.origin.stop() } else { try fixture.origin.start() }
    }

    private func evict() async throws {
        guard !isOffline else { return }
        var limits = StorageLimits(evictsDownloads: true)
        limits.maxSize = Int64.random(in: 1...3_000_000, using: &random)
        _ = try await vault.space.prune(limits)
    }

    private func restart() async throws {
        await vault.close()
        isOffline = Int.random(in: 0..<4, using: &random) == 0
        vault = try await Self.open(fixture, isOffline ? .offline : .online)
    }

    private func readTogether() async throws {
        let title = Int.random(in: 0..<Self.titles, using: &random)
        let parts = (0..<3).map { _ in Double.random(in: 0...1, using: &random) }
        let ranges = parts.map { _ in range(of: title) }
        await withTaskGroup(of: Outcome.self) { group in
            for (part, range) in zip(parts, ranges) {
                group.addTask { [vault, url = url(title)] in await Self.outcome(vault, url, range, part) }
            }
            for await outcome in group { judge(outcome, title) }
        }
    }

    private func downloadBesidePlayer() async throws {
        let title = Int.random(in: 0..<Self.titles, using: &random)
        let range = range(of: title)
        let url = url(title)
        let options = DownloadOptions(connections: Int.random(in: 1...3, using: &random))
        let vault = vault
        let download = Task {
            do {
                for try await _ in vault.download(url, options: options) {}
                return true
            } catch {
                return false
            }
        }
        judge(await Self.outcome(vault, url, range, 1), title)
        let isWhole = await download.value
        guard isWhole, !isOffline else { return }
        if try await vault.titles.summary(of: url)?.isComplete != true { mistake = "a download ended and is not whole" }
    }

    private func read(_ title: Int, part: Double) async throws {
        let range = range(of: title)
        let held = try await vault.titles.summary(of: url(title))
        let before = fixture.origin.exchanges.count
        let outcome = await Self.outcome(vault, url(title), range, part)
        judge(outcome, title)
        guard let held, let size = held.size, let wanted = range.resolved(length: size) else { return }
        // Bytes that were held before need no origin and cause no request. If the title has changed, the vault may
        // know of it before the first byte of the new version is durable: then the index still lists the old one.
        let isNewest = held.etag == origin.world.withLock { $0.versions[title].last?.entityTag }
        guard isNewest, ByteRanges(held.held).gaps(in: wanted).isEmpty else { return }
        if let error = outcome.error { mistake = "held bytes of the newest version were not given: \(error)" }
        var asked = fixture.origin.exchanges.dropFirst(before).map(\.request)
        if !asked.isEmpty, asked.allSatisfy({ $0.method == "HEAD" }) {
            // An earlier read may have stopped waiting for its request, which arrives only now, so the next one counts.
            let again = fixture.origin.exchanges.count
            judge(await Self.outcome(vault, url(title), range, part), title)
            asked = fixture.origin.exchanges.dropFirst(again).map(\.request)
        }
        if !asked.isEmpty {
            let requests = asked.map { "\($0.method) \($0.target) \($0.range ?? "") \($0.ifRange ?? "")" }
            mistake = "of title \(title) \(held.held) \(held.etag ?? "") were held, and for \(wanted) came \(requests)"
        }
    }

    private func range(of title: Int) -> RequestedRange {
        let length = origin.world.withLock { $0.versions[title].last?.media.length ?? 1 }
        let first = Int64.random(in: 0..<length, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .whole
        case 1: return .from(first)
        case 2: return .suffix(Int64.random(in: 1...length, using: &random))
        default: return .closed(first: first, last: .random(in: first...(first + length), using: &random))
        }
    }

    // MARK: Checking

    private struct Outcome: Sendable {
        var position: Int64 = 0
        var pieces: [(at: Int64, bytes: [UInt8])] = []
        var promised: ByteRange?
        var isWhole = false
        var error: VaultError?
    }

    /// Reads a part of a range, then cancels the reader.
    private static func outcome(
        _ vault: Vault, _ url: MediaURL, _ range: RequestedRange, _ part: Double
    ) async -> Outcome {
        var outcome = Outcome()
        do {
            let reader = try await vault.read(url, range: range)
            outcome.promised = reader.range
            outcome.position = reader.range?.lowerBound ?? 0
            let most = reader.range.map { part == 1 ? $0.length : Int64(Double($0.length) * part) } ?? .max
            var taken: Int64 = 0
            while taken < most, let bytes = try await reader.next() {
                outcome.pieces.append((outcome.position, bytes))
                outcome.position += Int64(bytes.count)
                taken += Int64(bytes.count)
            }
            outcome.isWhole = taken == reader.range?.length
            reader.cancel()
        } catch let error as VaultError {
            outcome.error = error
        } catch {
            outcome.error = VaultError(.storage, "\(error)")
        }
        return outcome
    }

    private func judge(_ outcome: Outcome, _ title: Int) {
        counts.reads += 1
        counts.bytes += outcome.pieces.reduce(0) { $0 + Int64($1.bytes.count) }
        if outcome.error != nil { counts.explained += 1 }
        let versions = origin.world.withLock { $0.versions[title] }
        if !outcome.pieces.isEmpty,
            !versions.contains(where: { version in
                outcome.pieces.allSatisfy { version.media.matches($0.bytes, at: $0.at) }
            })
        {
            mistake = "bytes of title \(title) are of no version, or of two"
        }
        if let promised = outcome.promised, let last = outcome.pieces.last,
            last.at + Int64(last.bytes.count) > promised.upperBound
        {
            mistake = "more bytes of title \(title) came than were promised"
        }
        switch outcome.error?.code {
        case nil, .unreachable, .notHeld, .refused, .changed, .unsatisfiableRange: break
        case let code?: mistake = "title \(title) ended with \(code): \(outcome.error?.message ?? "")"
        }
    }
}

/// An origin whose titles change, and which fails now and then.
private final class ChangingOrigin: Sendable {
    struct World {
        /// All versions of each title, newest last.
        var versions: [[ScriptedResource]]
        var isDown = false
        /// The number of next requests that get an error or an interrupted response.
        var trouble = 0
    }

    let world: Mutex<World>

    init(_ versions: [[ScriptedResource]]) { world = Mutex(World(versions: versions)) }

    func answer(to request: ScriptedRequest) -> ScriptedAnswer {
        world.withLock { world in
            let title = Int(request.target.dropFirst().prefix { $0 != "." }) ?? 0
            guard let resource = world.versions[title].last else { return ScriptedAnswer(404) }
            var answer = resource.answer(to: request)
            guard world.trouble > 0 else { return answer }
            world.trouble -= 1
            if world.trouble.isMultiple(of: 2) { return ScriptedAnswer(503, fields: ["Content-Length": "0"]) }
            answer.cut(at: 10_000, by: .reset)
            return answer
        }
    }
}
