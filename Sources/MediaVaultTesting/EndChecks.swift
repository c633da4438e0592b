import OriginServer
import VaultModel

/// The checks of how a transport ends what nobody wants any more.
enum EndChecks {
    private static let resource = ScriptedResource(length: 1_000_000)

    /// A server that holds its answer back at a byte of the body, or before the head, for ever.
    private static func holding(at place: Int64?) throws -> ScriptedOrigin {
        let gate = Gate()
        return try ScriptedOrigin { request in
            var answer = resource.answer(to: request)
            if let place { answer.insert(.hold(gate), at: place) } else { answer.before = [.hold(gate)] }
            return answer
        }
    }

    /// Records a finding unless the client goes away.
    private static func expectEnd(_ trial: Trial, _ server: ScriptedOrigin, _ what: String) async {
        await trial.expect(server, "the connection to end after \(what)") { $0.first?.phase == .abandoned }
    }

    static func task(_ trial: Trial) async throws {
        let origin = await trial.origin()
        let early = try holding(at: nil)
        let request = OriginRequest(url: early.url())
        let sending = Task { try await origin.send(request) }
        await trial.expect(early, "the request to come") { $0.first?.phase == .held }
        sending.cancel()
        await trial.expectCancelled(sending, "a request whose task is cancelled before the head")
        await expectEnd(trial, early, "the task was cancelled before the head")

        let late = try holding(at: 10)
        let response = try await origin.send(OriginRequest(url: late.url()))
        let reading = Task { while try await response.nextBytes() != nil {} }
        await trial.expect(late, "the body to begin") { $0.first?.phase == .held }
        reading.cancel()
        await trial.expectCancelled(reading, "a wait for bytes whose task is cancelled")
        await expectEnd(trial, late, "the task was cancelled during the body")

        let never = try holding(at: nil)
        let url = never.url()
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await origin.send(OriginRequest(url: url))
        }
        await trial.expectCancelled(cancelled, "a request of a task that is cancelled already")
    }

    static func cancel(_ trial: Trial) async throws {
        let server = try holding(at: 10)
        let response = try await trial.origin().send(OriginRequest(url: server.url()))
        let reading = Task { while try await response.nextBytes() != nil {} }
        await trial.expect(server, "the body to begin") { $0.first?.phase == .held }
        response.cancel()
        response.cancel()
        await trial.expectCancelled(reading, "a wait for bytes of a response that is cancelled")
        await expectEnd(trial, server, "cancel()")
        await trial.expectCancelled(Task { try await response.nextBytes() }, "a read after cancel()")
    }

    static func release(_ trial: Trial) async throws {
        let server = try holding(at: 10)
        let origin = await trial.origin()
        var response: (any OriginResponse)? = try await origin.send(OriginRequest(url: server.url()))
        await trial.expect(server, "the body to begin") { $0.first?.phase == .held }
        trial.expect(response?.head.status, is: 200, "the status")
        response = nil
        await expectEnd(trial, server, "the response was released")
    }

    static func unreadBytes(_ trial: Trial) async throws {
        let server = try holding(at: 100_000)
        let response = try await trial.origin().send(OriginRequest(url: server.url()))
        var taken = Reception(head: response.head)
        await taken.read(response, upTo: 1)
        await trial.expect(server, "the body to be sent") { $0.first?.phase == .held }
        let rest = response.end().flatMap(\.self)
        trial.expect(
            resource.media.matches(taken.bytes + rest, at: 0),
            "bytes that follow the \(taken.bytes.count) delivered ones",
            happened: "end() returned \(rest.count) others")
        await expectEnd(trial, server, "end()")
        await trial.expectCancelled(Task { try await response.nextBytes() }, "a read after end()")
    }
}
