import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Origins that refuse", .timeLimit(.minutes(5)))
struct RefusingOriginTests {
    private let length: Int64 = 300_000

    private static let statuses = [400, 401, 403, 404, 410, 429, 451, 500, 502, 503, 504, 599]

    @Test("At first: the status is told at once, nothing is stored, and nobody asks twice", arguments: statuses)
    func atFirst(_ status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { _ in
            ScriptedAnswer(status, fields: ["Content-Length": "5"], body: [.bytes(Array("error".utf8))])
        }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.error?.code == .refused && reception.error?.originStatus == status)
        #expect(reception.bytes.isEmpty && fixture.origin.exchanges.count == 1)
        #expect(try await vault.summary(of: fixture.url) == nil)
        await vault.close()
    }

    @Test("On the way: what is held plays up to there, and is held still", arguments: statuses)
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
        // What may pass by itself is asked again; what will not, is not.
        let isFinal = [400, 401, 403, 404, 410, 451, 599].contains(status)
        #expect(isFinal ? fixture.origin.exchanges.count == 2 : fixture.origin.exchanges.count <= 31)
        await vault.close()
        #expect(try await fixture.stored() == [0..<100_000])
    }

    @Test("A Retry-After that is too long for a player is a refusal, and is passed on")
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

    @Test("An origin that is busy for a second is waited for before a player is told", arguments: [429, 503])
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

    @Test("One that stays busy is asked twice, and the player is told")
    func busyForGood() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { _ in ScriptedAnswer(429, fields: ["Content-Length": "0", "Retry-After": "1"]) }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.error?.originStatus == 429 && reception.error?.retryAfter == 1)
        #expect(fixture.origin.exchanges.count == 2)
        await vault.close()
    }

    @Test("A redirect to where one is refused is a refusal")
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

    @Test("A player that opens a refused title again and again is answered without the origin after a while")
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
