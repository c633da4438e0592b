import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Origins that refuse", .timeLimit(.minutes(5)))
struct RefusingOriginTests {
    private let length: Int64 = 300_000

    private static let statuses = [400, 401, 403, 404, 410, 429, 451, 500, 502, 503, 504, 599]

    @Test(
        "If the first request is refused, the status is reported at once, and nothing is stored or requested again",
        arguments: statuses)
    func atFirst(_ status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { _ in
            ScriptedAnswer(status, fields: ["Content-Length": "5"], body: [.bytes(Array("error".utf8))])
        }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.error?.code == .refused && reception.error?.originStatus == status)
        #expect(reception.bytes.isEmpty && fixture.origin.exchanges.count == 1)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        await vault.close()
    }

    @Test("If a later request is refused, held bytes are served up to the gap and stay held", arguments: statuses)
    func onTheWay(_ status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            guard request.number == 0 else { return ScriptedAnswer(status, fields: ["Content-Length": "0"]) }
            var answer = resource.answer(to: request)
            answer.cut(at: 100_000, by: .close)
            return answer
        }
        let vault = try await fixture.openHasty(patience: .milliseconds(500))
        let reception = await fixture.receive(vault)
        #expect(reception.bytes == 0..<100_000 && reception.wrongByte == nil)
        #expect(reception.error?.originStatus == status && reception.error?.firstMissing == 100_000)
        // Only refusals that may be temporary are retried.
        let isFinal = [400, 401, 403, 404, 410, 451, 599].contains(status)
        #expect(isFinal ? fixture.origin.exchanges.count == 2 : fixture.origin.exchanges.count <= 31)
        await vault.close()
        #expect(try await fixture.stored() == [0..<100_000])
    }

    @Test("A Retry-After that is too long for a player counts as a refusal and is passed on")
    func longRetryAfter() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            guard request.number == 0 else {
                return ScriptedAnswer(503, fields: ["Content-Length": "0", "Retry-After": "3600"])
            }
            var answer = resource.answer(to: request)
            answer.cut(at: 100_000, by: .close)
            return answer
        }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.error?.originStatus == 503 && reception.error?.retryAfter == 3600)
        #expect(fixture.origin.exchanges.count == 2)
        await vault.close()
    }

    @Test("If an origin is busy for a second, the player waits and gets no error", arguments: [429, 503])
    func busyForAMoment(_ status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            request.number == 0
                ? ScriptedAnswer(status, fields: ["Content-Length": "0", "Retry-After": "1"])
                : resource.answer(to: request)
        }
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault) == 0..<length)
        #expect(fixture.ranges.count == 2)
        await vault.close()
    }

    @Test("If an origin stays busy, it is asked twice, and the player gets the error")
    func busyForGood() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { _ in ScriptedAnswer(429, fields: ["Content-Length": "0", "Retry-After": "1"]) }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.error?.originStatus == 429 && reception.error?.retryAfter == 1)
        #expect(fixture.origin.exchanges.count == 2)
        await vault.close()
    }

    @Test("A redirect to a target that refuses is a refusal")
    func redirectedRefusal() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { request in
            request.target == "/film.mp4"
                ? .redirect(to: "/login") : ScriptedAnswer(401, fields: ["Content-Length": "0"])
        }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.error?.originStatus == 401 && fixture.origin.exchanges.count == 2)
        await vault.close()
    }

    @Test("A player that keeps opening a refused title is answered without the origin after a while")
    func openingStorm() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        let vault = try await fixture.openHasty()
        for _ in 0..<60 {
            let reception = await fixture.receive(vault)
            #expect(reception.error?.originStatus == 404)
        }
        #expect(fixture.origin.exchanges.count == 30)
        await vault.close()
    }
}
