import Foundation
import Testing
import VaultModel

@testable import VaultService

@Suite("Error answer")
struct ErrorAnswerTests {
    private func refused(_ status: Int?, retryAfter: Int? = nil) -> VaultError {
        var error = VaultError(.refused, "the origin refused film.mp4")
        error.originStatus = status
        error.retryAfter = retryAfter
        return error
    }

    @Test(
        "An origin's refusal is passed on if a player can use it, else it is 502",
        arguments: [
            (401, 401), (403, 403), (404, 404), (410, 410), (451, 451), (429, 503), (503, 503), (400, 502), (405, 502),
            (416, 502), (500, 502), (502, 502), (504, 502), (418, 502),
        ])
    func refusal(origin: Int, status: Int) {
        #expect(ErrorAnswer.answer(to: refused(origin)).status == status)
    }

    @Test("A refusal without a status is 502")
    func refusalWithoutStatus() {
        #expect(ErrorAnswer.answer(to: refused(nil)).status == 502)
    }

    @Test("Retry-After is passed on", arguments: [429, 503])
    func retryAfter(origin: Int) {
        #expect(ErrorAnswer.answer(to: refused(origin, retryAfter: 7)).fields["Retry-After"] == "7")
        #expect(ErrorAnswer.answer(to: refused(origin)).fields["Retry-After"] == nil)
    }

    @Test(
        "Retry-After is limited to a day, in the field and in the document",
        arguments: [
            (Int.max, 86_400), (86_401, 86_400), (86_400, 86_400), (0, 0), (-5, 0),
        ])
    func longRetryAfter(said: Int, told: Int) throws {
        let answer = ErrorAnswer.answer(to: refused(503, retryAfter: said))
        #expect(answer.fields["Retry-After"] == String(told))
        #expect(try JSONText.read(ProblemDocument.self, from: answer.body).retryAfter == told)
    }

    @Test("A 401 has a challenge for which no browser prompts the user (RFC 9110 §11.6.1)")
    func challenge() {
        #expect(ErrorAnswer.answer(to: refused(401)).fields["WWW-Authenticate"] == #"MediaVault realm="origin""#)
        #expect(ErrorAnswer.answer(APIProblem.document(refused(401))).fields["WWW-Authenticate"] != nil)
        #expect(ErrorAnswer.answer(to: refused(403)).fields["WWW-Authenticate"] == nil)
    }

    @Test(
        "Each error code of the vault maps to an HTTP status",
        arguments: [
            (VaultError.Code.invalidResponse, 502), (.changed, 502), (.notHeld, 504), (.unreachable, 504),
            (.closed, 503),
            (.unsatisfiableRange, 416), (.storage, 500), (.integrity, 504), (.diskFull, 500), (.wrongKey, 500),
        ])
    func codes(code: VaultError.Code, status: Int) {
        #expect(ErrorAnswer.answer(to: VaultError(code, "it failed")).status == status)
    }

    @Test("Missing bytes are reported, with the held ranges")
    func missing() throws {
        var error = VaultError(.notHeld, "bytes are missing")
        error.firstMissing = 4096
        let answer = ErrorAnswer.answer(to: error, held: [0..<4096, 8192..<9000])
        #expect(answer.fields["Content-Type"] == "application/problem+json")
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: any Sendable])
        #expect(document["status"] as? Int == 504)
        #expect(document["firstMissing"] as? Int == 4096)
        #expect(document["held"] as? [[Int]] == [[0, 4096], [8192, 9000]])
    }

    @Test("A range that cannot be satisfied is answered with the length")
    func unsatisfiable() {
        var error = VaultError(.unsatisfiableRange, "outside")
        error.length = 42835
        #expect(ErrorAnswer.answer(to: error).fields["Content-Range"] == "bytes */42835")
        #expect(ErrorAnswer.answer(to: VaultError(.unsatisfiableRange, "outside")).fields["Content-Range"] == nil)
    }

    @Test(
        "No answer may be cached by a browser or read by another site",
        arguments: [
            ErrorAnswer.notFound, ErrorAnswer.malformedHost, ErrorAnswer.misdirectedHost,
            ErrorAnswer.methodNotAllowed(),
            Answer.healthy,
            ErrorAnswer.foreignUser, ErrorAnswer.failedCondition,
            ErrorAnswer.answer(to: VaultError(.unsatisfiableRange, "outside")),
        ])
    func protective(answer: Answer) {
        for field in ProtectiveFields.all.fields { #expect(answer.fields[field.name] == field.value) }
    }

    @Test("A refused host and a refused page come with the remedy that the operator has")
    func remedies() throws {
        for (answer, hint) in [(ErrorAnswer.misdirectedHost, "allowHost"), (ErrorAnswer.crossSitePage, "allowPage")] {
            let document = try #require(
                try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: any Sendable])
            #expect(document["hint"] as? String == hint)
        }
    }

    @Test("405 lists the allowed methods")
    func allow() {
        #expect(ErrorAnswer.methodNotAllowed().fields["Allow"] == "GET, HEAD")
    }

    @Test("An answer without media reports whether the origin was asked, and its status (RFC 9211)")
    func cacheStatus() {
        let answers: [(VaultError, String?)] = [
            (refused(404), "MediaVault; fwd=miss; fwd-status=404"),
            (VaultError(.invalidResponse, "the response is invalid"), "MediaVault; fwd=miss; detail=invalidResponse"),
            (VaultError(.notHeld, "bytes are missing"), "MediaVault; detail=not-held"),
            (VaultError(.unsatisfiableRange, "outside"), nil),
        ]
        for (error, value) in answers { #expect(ErrorAnswer.answer(to: error).fields["Cache-Status"] == value) }
    }
}
