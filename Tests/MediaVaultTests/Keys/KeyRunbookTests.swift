import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault

@Suite("Runbooks: several key operations as one")
struct KeyRunbookTests {
    /// Key operations that are recorded, and that fail or leave work undone as the test requires.
    private final class Recorder: KeyOperations {
        private(set) var done: [String] = []
        var active = [1, 2, 3]
        var unopened = 0
        var damaged = 0
        var needed: Set<Int> = []
        var failing: String?
        /// Whether the task is cancelled when the operation fails.
        var cancels = false
        var receipts: [Receipt] = []
        var isSound = true

        private func note(_ name: String) throws {
            if name == failing {
                if cancels { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
                throw VaultError(.diskFull, "no space left on the disk")
            }
            done.append(name)
        }

        func generations() async throws -> [Int] { active }
        func rotate() async throws {
            try note("rotate")
            active.append(active.count + 1)
        }
        func rotateRoot() async throws {
            try note("root")
            active.append(active.count + 1)
        }
        func revokeLinks() async throws { try note("links") }
        func rewrap(_ tell: Tell) async throws -> Int {
            try note("rewrap")
            try await tell(2, 5)
            return unopened
        }
        func reseal(bytesPerSecond: Int64?, _ tell: Tell) async throws -> ResealReport {
            try note("reseal \(bytesPerSecond ?? 0)")
            var report = ResealReport(subjects: [])
            report.damage = damaged
            return report
        }
        func retire(_ generation: Int) async throws {
            guard !needed.contains(generation) else { throw VaultError(.inUse, "generation \(generation) is needed") }
            try note("retire \(generation)")
        }
        func audit() async throws -> (receipts: [Receipt], isSound: Bool) {
            try note("audit")
            return (receipts, isSound)
        }
    }

    private func run(_ runbook: KeyRunbook, _ recorder: Recorder) async throws -> RunbookProgress {
        try await recorder.carryOut(runbook) { _ in }
    }

    private static func receipt(_ act: Receipt.Act, _ generation: Int) -> Receipt {
        Receipt(sequence: 1, time: 0, act: act, outcome: .done, generation: generation, subject: nil, resources: nil)
    }

    @Test(
        "Each runbook carries out its operations in order",
        arguments: [
            (KeyRunbook.rootRevocation, ["root", "rewrap", "retire 1", "retire 2", "retire 3"]),
            (
                .leakResponse(bytesPerSecond: 7),
                ["root", "rewrap", "reseal 7", "retire 1", "retire 2", "retire 3", "audit"]
            ),
            (
                .leakResponse(keepsRoot: true, reseals: false),
                ["rotate", "links", "rewrap", "retire 1", "retire 2", "retire 3", "audit"]
            ),
            (.renewal(), ["rotate", "rewrap", "retire 1", "retire 2"]),
            (.renewal(rotates: false, keeping: 1), ["rewrap", "retire 1", "retire 2"]),
            (.renewal(keeping: 9), ["rotate", "rewrap"]),
        ])
    func order(runbook: KeyRunbook, expected: [String]) async throws {
        let recorder = Recorder()
        let progress = try await run(runbook, recorder)
        #expect(recorder.done == expected && progress.isComplete && progress.step == nil)
        #expect(progress.ended.map(\.step) == runbook.steps)
    }

    @Test("The current generation is never destroyed", arguments: -1...1)
    func current(kept: Int) { #expect(KeyRunbook.generations(toRetireOf: [3, 5], keeping: kept) == [3]) }

    @Test("What a response cannot open, or what is still needed, stops nothing, and is reported")
    func goesOn() async throws {
        let recorder = Recorder()
        (recorder.unopened, recorder.damaged, recorder.needed) = (2, 3, [2])
        let progress = try await run(.leakResponse(), recorder)
        #expect(recorder.done == ["root", "rewrap", "reseal 0", "retire 1", "retire 3", "audit"])
        #expect(progress.ended.map(\.outcome.isComplete) == [true, false, false, false, true])
        #expect(progress.ended[1].outcome == .unopened(keys: 2) && !progress.isComplete)
        guard case .retired(let generations, let kept) = progress.ended[3].outcome else {
            Issue.record("not a retirement: \(progress.ended[3])")
            return
        }
        #expect(generations == [1, 3] && kept.map(\.code) == [.inUse])
    }

    @Test("A scheduled rotation destroys nothing if a key does not open")
    func destroysNothing() async throws {
        let recorder = Recorder()
        recorder.unopened = 1
        let progress = try await run(.renewal(), recorder)
        #expect(recorder.done == ["rotate", "rewrap"] && !progress.isComplete)
    }

    @Test("If a generation cannot be destroyed for any reason, the others are, and the receipts are still checked")
    func retirementFails() async throws {
        for runbook in [KeyRunbook.leakResponse(reseals: false), .rootRevocation, .renewal(keeping: 1)] {
            let recorder = Recorder()
            recorder.failing = "retire 2"
            let progress = try await run(runbook, recorder)
            #expect(recorder.done.suffix(3).contains("retire 3") && !recorder.done.contains("retire 2"))
            #expect(recorder.done.contains("audit") == runbook.steps.contains(.audit))
            #expect(progress.ended.map(\.step) == runbook.steps && !progress.isComplete)
            let retirement = try #require(progress.ended.first { $0.step == .retire(keeping: 1) })
            guard case .retired(let generations, let kept) = retirement.outcome else {
                Issue.record("not a retirement: \(retirement)")
                return
            }
            #expect(generations == [1, 3] && kept.map(\.code) == [.diskFull])
            #expect(kept.map(\.message) == ["generation 2 was not destroyed: no space left on the disk"])
        }
    }

    @Test("If a runbook is cancelled while a generation is being destroyed, it ends there")
    func cancelledRetirement() async {
        let task = Task {
            let recorder = Recorder()
            (recorder.failing, recorder.cancels) = ("retire 2", true)
            await #expect(throws: CancellationError.self) { try await run(.leakResponse(reseals: false), recorder) }
            return recorder.done
        }
        #expect(await task.value == ["root", "rewrap", "retire 1"])
    }

    @Test("An operation that fails ends the runbook, which names it", arguments: ["root", "rewrap"])
    func failure(name: String) async throws {
        let recorder = Recorder()
        recorder.failing = name
        var latest = RunbookProgress()
        let error = await #expect(throws: VaultError.self) {
            try await recorder.carryOut(.rootRevocation) { latest = $0 }
        }
        let all = ["root", "rewrap", "retire 1", "retire 2", "retire 3"]
        #expect(error?.code == .diskFull && recorder.done == Array(all.prefix { $0 != name }))
        #expect(latest.step == KeyRunbook.rootRevocation.steps[latest.ended.count])
    }

    @Test("A caller that throws before a step ends the runbook there")
    func stopped() async throws {
        let recorder = Recorder()
        await #expect(throws: CancellationError.self) {
            try await recorder.carryOut(
                .leakResponse(), willBegin: { if $0 == .reseal(bytesPerSecond: nil) { throw CancellationError() } },
                tell: { _ in })
        }
        #expect(recorder.done == ["root", "rewrap"])
    }

    @Test("The progress of a step is reported, and begins again with the next step")
    func measures() async throws {
        var seen: [(KeyRunbook.Step?, Int64, Int64)] = []
        _ = try await Recorder().carryOut(.rootRevocation) { seen.append(($0.step, $0.done, $0.total)) }
        #expect(seen.map(\.0) == [.rotateRoot, nil, .rewrap, .rewrap, nil, .retire(keeping: 1), nil])
        #expect(seen.map(\.2) == [0, 0, 0, 5, 0, 0, 0] && seen[3].1 == 2)
    }

    @Test("A response resumes only if a receipt shows that a rotation created the current generation")
    func resumption() async throws {
        // The receipts, and whether they suffice for a response that keeps the root key and for one that replaces it.
        let cases: [([Receipt], keeping: Bool, replacing: Bool)] = [
            ([], false, false), ([Self.receipt(.rotate, 2)], false, false),
            ([Self.receipt(.revokeLinks, 3)], false, false), ([Self.receipt(.rotate, 3)], true, false),
            ([Self.receipt(.rotateRoot, 2), Self.receipt(.rotate, 3)], true, false),
            ([Self.receipt(.revokeLinks, 3), Self.receipt(.rotateRoot, 3)], true, true),
        ]
        for (receipts, keeping, replacing) in cases {
            for (keepsRoot, isResumable) in [(true, keeping), (false, replacing)] {
                let (recorder, response) = (Recorder(), KeyRunbook.leakResponse(keepsRoot: keepsRoot))
                recorder.receipts = receipts
                guard isResumable else {
                    let error = await #expect(throws: VaultError.self) { try await recorder.resumed(response) }
                    #expect(error?.code == .invalidArgument, "\(receipts)")
                    continue
                }
                let links: [KeyRunbook.Step] = keepsRoot ? [.revokeLinks] : []
                let rest: [KeyRunbook.Step] = [.rewrap, .reseal(bytesPerSecond: nil), .retire(keeping: 1), .audit]
                #expect(try await recorder.resumed(response).steps == links + rest)
                recorder.isSound = false
                let error = await #expect(throws: VaultError.self) { try await recorder.resumed(response) }
                #expect(error?.code == .integrity)
            }
        }
    }
}

@Suite("Root revocation and the response to a leak, each as one call", .timeLimit(.minutes(5)))
struct LeakResponseTests {
    private func last(_ run: ProgressSequence<RunbookProgress>) async throws -> RunbookProgress? {
        var last: RunbookProgress?
        for try await progress in run { last = progress }
        return last
    }

    @Test("Afterwards only the new generation is left, and the title plays", arguments: [true, false])
    func done(keepsRoot: Bool) async throws {
        let length: Int64 = 300_000
        let (fixture, vault) = try await VaultFixture.filled(ScriptedResource(length: length))
        let unlocks = keepsRoot ? nil : [fixture.unlock]
        let progress = try #require(try await last(vault.keys.respondToLeak(unlockedBy: unlocks)))
        #expect(progress.isComplete && progress.ended.last?.step == .audit)
        #expect(try await vault.keys.report().generations.map(\.state) == [.retired, .current])
        // Resuming repeats no rotation.
        let resumed = try await last(vault.keys.respondToLeak(unlockedBy: unlocks, reseals: false, resuming: true))
        #expect(resumed?.isComplete == true)
        #expect(try await vault.keys.report().current == 2)
        #expect(try await last(vault.keys.revokeRoot(unlockedBy: [fixture.unlock]))?.ended.count == 3)
        #expect(try await vault.keys.report().generations.map(\.state) == [.retired, .retired, .current])
        await vault.close()
        let reader = try await fixture.open(.reader)
        #expect(try await fixture.read(reader) == 0..<length)
        await reader.close()
    }

    @Test("On a vault that was never rotated, there is nothing to resume")
    func nothing() async throws {
        let (_, vault) = try await VaultFixture.filled(ScriptedResource(length: 100))
        let error = await #expect(throws: VaultError.self) {
            try await last(vault.keys.respondToLeak(unlockedBy: nil, resuming: true))
        }
        #expect(error?.code == .invalidArgument)
        #expect(try await vault.keys.report().current == 1)
        await vault.close()
    }
}
