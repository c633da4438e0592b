import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache

@Suite("An app's own transport that neither answers nor fails", .timeLimit(.minutes(2)))
struct PatientOriginTests {
    /// A transport that ignores the cancellation of its task.
    private final class SilentOrigin: Origin {
        private struct State {
            var isSilent = true
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let answers: Bool
        private let state = Locked(State())
        /// Ends when an answer is cancelled.
        let cancellation = AsyncStream<Void>.makeStream()

        init(answers: Bool) { self.answers = answers }

        func send(_ request: OriginRequest) async throws -> any OriginResponse {
            if !answers { await silence() }
            return SilentResponse(self)
        }

        func silence() async {
            await withCheckedContinuation { waiter in
                let isSilent = state.withLock { state in
                    if state.isSilent { state.waiting.append(waiter) }
                    return state.isSilent
                }
                if !isSilent { waiter.resume() }
            }
        }

        /// Lets the silent answers continue.
        func speak() {
            let waiting = state.withLock { state in
                state.isSilent = false
                return state.waiting
            }
            for waiter in waiting { waiter.resume() }
        }
    }

    /// An answer whose first four bytes arrive at once, and the next four late.
    private final class SilentResponse: OriginResponse {
        private let origin: SilentOrigin
        private let taken = Locked(0)

        init(_ origin: SilentOrigin) { self.origin = origin }

        var head: OriginHead {
            OriginHead(status: 200, fields: HeaderFields(["Content-Length": "12"]))
        }

        func nextBytes() async throws -> [UInt8]? {
            let count = taken.withLock { count in
                count += 1
                return count
            }
            if count > 1 { await origin.silence() }
            return Array(repeating: UInt8(count), count: 4)
        }

        func cancel() { origin.cancellation.continuation.finish() }

        func end() -> [[UInt8]] { [[3, 3, 3, 3]] }
    }

    private func request() throws -> OriginRequest { OriginRequest(url: try MediaURL("http://a.example/film.mp4")) }

    /// Waits forever in every call before the given one, and then not at all.
    private static func patience(endingAt last: Int) -> @Sendable () async throws -> Void {
        let calls = Locked(0)
        return {
            let call = calls.withLock { count in
                count += 1
                return count
            }
            if call < last { try await Task.sleep(for: .seconds(86_400)) }
        }
    }

    @Test("It counts as one that does not answer, and the answer that comes late is ended")
    func silentHead() async throws {
        let origin = SilentOrigin(answers: false)
        let patient = PatientOrigin(origin, patience: Self.patience(endingAt: 1))
        let failure = await #expect(throws: OriginFailure.self) { try await patient.send(request()) }
        #expect(failure?.kind == .unreachable)
        origin.speak()
        for await _ in origin.cancellation.stream {}
    }

    @Test("A body that stands still has broken off, and nothing that comes after it is taken for what was due")
    func silentBody() async throws {
        let origin = SilentOrigin(answers: true)
        let patient = PatientOrigin(origin, patience: Self.patience(endingAt: 3))
        let response = try await patient.send(request())
        #expect(try await response.nextBytes() == [1, 1, 1, 1])
        let failure = await #expect(throws: OriginFailure.self) { try await response.nextBytes() }
        #expect(failure?.kind == .interrupted)
        #expect(response.end().isEmpty, "four bytes before these are missing")
        origin.speak()
    }

    @Test("What it brings in time is passed on as it comes, and what is left at the end")
    func inTime() async throws {
        let origin = SilentOrigin(answers: true)
        let patient = PatientOrigin(origin, patience: Self.patience(endingAt: .max))
        let response = try await patient.send(request())
        #expect(response.head.status == 200)
        #expect(try await response.nextBytes() == [1, 1, 1, 1])
        #expect(response.end() == [[3, 3, 3, 3]])
        origin.speak()
    }

    @Test("A reader gets an error instead of waiting for ever", arguments: [true, false])
    func reader(answers: Bool) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 12))
        let origin = SilentOrigin(answers: answers)
        var options = VaultOptions(origin: origin)
        options.retry.silenceLimit = .milliseconds(1)
        options.retry.patience = .milliseconds(1)
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        await #expect(throws: VaultError.self) {
            for try await _ in try await vault.read(MediaReference(fixture.url)) {}
        }
        origin.speak()
        await vault.close()
    }
}
