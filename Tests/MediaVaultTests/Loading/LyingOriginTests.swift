import Foundation
import MediaVault
import OriginTestSupport
import SeededRandom
import Testing
import VaultFetch
import VaultModel

/// `MEDIAVAULT_LIES` is the number of answers, and `MEDIAVAULT_LIES_SEED` repeats a run.
@Suite("An origin that lies at random", .timeLimit(.minutes(180)))
struct LyingOriginTests {
    enum Transport: String, CaseIterable { case libcurl, own }

    private static let answers = ProcessInfo.processInfo.environment["MEDIAVAULT_LIES"].flatMap { Int($0) } ?? 1000
    private static let seed =
        ProcessInfo.processInfo.environment["MEDIAVAULT_LIES_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)

    @Test(
        "Whatever an origin says, no held byte is wrong, nothing waits for ever, and no title with a gap is complete",
        arguments: Transport.allCases)
    func lies(_ transport: Transport) async throws {
        var (given, complete, seed) = (0, 0, Self.seed)
        while given < Self.answers {
            print("lies of \(transport.rawValue): MEDIAVAULT_LIES_SEED=\(seed)")
            let round = try await LyingRound(seed, transport)
            let result = try await round.run()
            (given, complete, seed) = (given + result.answers, complete + result.complete, seed &+ 1)
        }
        print("lies of \(transport.rawValue): \(given) answers, \(complete) complete titles")
        #expect(complete > 0, "premise: the truth gets through")
    }
}

/// A vault whose titles are read and downloaded from an origin that lies.
private struct LyingRound {
    private static let targets = (0..<6).map { "/film\($0).mp4" }
    private static let acts = 8

    private let seed: UInt64
    private let lying: LyingOrigin
    private let fixture: VaultFixture
    private let own: ScriptedTransport?

    init(_ seed: UInt64, _ transport: LyingOriginTests.Transport) async throws {
        let lying = LyingOrigin(seed: seed, isOnWire: transport == .libcurl)
        (self.seed, self.lying) = (seed, lying)
        fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer { lying.answer(to: $0) }
        own = transport == .own ? ScriptedTransport { lying.answer(to: $0) } : nil
    }

    private func open() async throws -> Vault {
        var options = VaultOptions(
            origin: own
                ?? CurlOrigin(
                    configuration: CurlConfiguration(userAgent: "MediaVault/test", stallTimeout: .milliseconds(500))))
        options.retry.silenceLimit = .milliseconds(500)
        options.retry.patience = .seconds(1)
        options.retry.downloadTimeLimit = .seconds(1)
        options.retry.goneTimeLimit = .seconds(1)
        options.retry.openingTimeLimit = .milliseconds(200)
        options.retry.firstDelay = .milliseconds(1)
        options.retry.longestDelay = .milliseconds(5)
        options.retry.attemptsPerMinute = 1000
        return try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
    }

    func run() async throws -> (answers: Int, complete: Int) {
        let vault = try await open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for target in Self.targets { group.addTask { try await play(target, vault) } }
            try await group.waitForAll()
        }
        await vault.close()
        let complete = try await check()
        return (own?.count ?? fixture.origin.exchanges.count, complete)
    }

    /// Reads and downloads a title in a random order.
    private func play(_ target: String, _ vault: Vault) async throws {
        var random = SeededGenerator(seed: seed &+ UInt64(target.utf8.reduce(0) { $0 + Int($1) }))
        let (versions, url) = (lying.versions(of: target), fixture.origin.url(target))
        let length = versions[0].length
        for act in 0..<Self.acts {
            let first = Int64.random(in: 0..<length, using: &random)
            let range: RequestedRange? =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: .whole
                case 1: .from(first)
                case 2: .closed(first: first, last: Int64.random(in: first..<length, using: &random))
                default: nil
                }
            try await inTime("\(target), act \(act)") {
                guard let range else {
                    // The next step retries what failed.
                    do { for try await _ in vault.download(url) {} } catch is VaultError {}
                    return
                }
                let reception = await fixture.receive(vault, range, versions: versions, of: url)
                #expect(reception.wrongByte == nil, "\(target), act \(act), seed \(seed)")
            }
        }
    }

    private func inTime(_ name: String, _ act: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await act()
                return true
            }
            group.addTask {
                try await Task.sleep(for: .seconds(60))
                return false
            }
            let isOver = try await group.next() ?? false
            group.cancelAll()
            #expect(isOver, "\(name) does not end, seed \(seed)")
        }
    }

    /// Checks all held bytes.
    ///
    /// - Returns: the number of complete titles.
    private func check() async throws -> Int {
        let vault = try await fixture.open(.reader)
        var complete = 0
        for target in Self.targets {
            let url = fixture.origin.url(target)
            guard let summary = try await vault.titles.summary(of: url) else { continue }
            var versions = lying.versions(of: target)
            if summary.isComplete {
                complete += 1
                #expect(summary.held == [0..<versions[0].length], "\(target) has a gap, seed \(seed)")
            }
            for range in summary.held {
                var position = range.lowerBound
                let asked = RequestedRange.closed(first: range.lowerBound, last: range.upperBound - 1)
                for try await bytes in try await vault.read(url, range: asked) {
                    versions = versions.filter { [position] in $0.matches(bytes, at: position) }
                    position += Int64(bytes.count)
                }
                #expect(position == range.upperBound, "\(target) ends early, seed \(seed)")
            }
            #expect(!versions.isEmpty, "\(target) holds bytes of no version, or of several, seed \(seed)")
        }
        await vault.close()
        return complete
    }
}
