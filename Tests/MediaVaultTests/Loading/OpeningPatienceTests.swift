import OriginTestSupport
import Testing
import VaultFetch
import VaultModel

@testable import MediaVault
@testable import VaultCache

@Suite("Opening a title while connections to its origin fail", .timeLimit(.minutes(5)))
struct OpeningPatienceTests {
    private let start = ContinuousClock.now
    private let length: Int64 = 400_000

    @Test("A seek whose first requests are reset succeeds by retries if the origin answered recently")
    func seek() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            if (1...3).contains(request.number) { answer.before = [.reset] }
            return answer
        }
        let vault = try await fixture.openHasty { $0.openingTimeLimit = .seconds(60) }
        #expect(try await fixture.read(vault, .closed(first: 0, last: 99_999)) == 0..<100_000)
        #expect(try await fixture.read(vault, .closed(first: 300_000, last: 349_999)) == 300_000..<350_000)
        #expect(fixture.ranges == ["bytes=0-99999"] + [String](repeating: "bytes=300000-349999", count: 4))
        await vault.close()
    }

    @Test("If an origin never answered, its player gets the error after one request")
    func first() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.before = [.reset]
            return answer
        }
        let vault = try await fixture.openHasty(patience: .seconds(30))
        let error = await #expect(throws: VaultError.self) { try await vault.read(fixture.url) }
        #expect(error?.code == .unreachable && fixture.origin.exchanges.count == 1)
        await vault.close()
    }

    /// Returns a state that knows a title, with one reader that is just opening it.
    private func opening() -> (LoaderState, ReaderState.ID) {
        var state = LoaderState(mode: .online)
        _ = state.learn(
            ContentInformation(length: length, type: nil, validators: Validators(), supportsRanges: true))
        let reader = state.addReader(0..<length)
        state.expect(reader)
        return (state, reader)
    }

    /// Fails each transfer that a reader starts, until the reader gets the error or waits forever.
    ///
    /// - Returns: The number of transfers and the time of the error; nil if the reader got none.
    private func fail(
        _ state: inout LoaderState, _ reader: ReaderState.ID, _ failure: FetchFailure
    ) -> (tries: Int, told: ContinuousClock.Instant)? {
        var (now, tries) = (start, 0)
        while tries < 100 {
            let (step, effects) = state.step(reader, now: now)
            switch step {
            case .fetch(let fetch):
                tries += 1
                _ = state.receiverEnded(fetch, failure, now: now, chance: 1)
                _ = state.remove(fetch)
            case .failed: return (tries, now)
            default:
                guard let alarm = effects.alarms.first else { return nil }
                now = alarm.time
            }
        }
        return nil
    }

    @Test("The player gets the error after some seconds", arguments: [OriginFailure.Kind.unreachable, .interrupted])
    func someSeconds(kind: OriginFailure.Kind) throws {
        var (state, reader) = opening()
        let end = try #require(fail(&state, reader, .origin(OriginFailure(kind, "reset"))))
        #expect(end.told - start == state.retry.policy.openingTimeLimit && (4...10).contains(end.tries))
    }

    @Test("A refusal by the origin is reported at once", arguments: [404, 503])
    func refusal(status: Int) throws {
        var (state, reader) = opening()
        let refusal = FetchFailure.origin(OriginFailure(.refused(status: status, retryAfter: nil), "refused"))
        let end = try #require(fail(&state, reader, refusal))
        #expect(end.tries == 1 && end.told == start)
    }

    @Test("An answer is remembered for a minute, despite later failures")
    func lately() {
        let contact = OriginReachability()
        contact.note(isReachable: false, now: start)
        #expect(!contact.hasAnsweredLately(now: start))
        contact.note(isReachable: true, now: start)
        contact.note(isReachable: false, now: start + .seconds(1))
        #expect(contact.hasAnsweredLately(now: start + .seconds(59)))
        #expect(!contact.hasAnsweredLately(now: start + .seconds(60)))
    }
}
