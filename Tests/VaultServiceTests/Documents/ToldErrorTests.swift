import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("An error as those outside are told")
struct ToldErrorTests {
    @Test("A missing byte is the origin's fault where it could be asked, and nobody's offline")
    func missing() {
        let error = VaultError(.notHeld, "the bytes from 5 on are not held")
        #expect(error.told(in: .online).code == .unreachable)
        #expect(error.told(in: .offline).code == .notHeld)
        #expect(VaultError(.integrity, "damaged").told(in: .online).code == .integrity)
    }

    @Test("A problem document gives the error again that it was made of")
    func roundTrip() throws {
        var error = VaultError(.refused, "the origin refused film.mp4")
        (error.originStatus, error.retryAfter, error.firstMissing, error.length) = (429, 7, 5, 9)
        let document: ProblemDocument = try JSONText.read(from: APIProblem.document(error).json)
        #expect(document.error == error && document.status == 503)
        #expect(ProblemDocument(status: 404, title: "Not Found").error == nil)
    }

    @Test(
        "What was asked wrongly is theirs who asked, and what is not there is not found",
        arguments: [
            (VaultError.Code.invalidURL, 400), (.invalidArgument, 400), (.notHeld, 404), (.unreachable, 504),
            (.invalidResponse, 502), (.diskFull, 507), (.closed, 503), (.storage, 500),
        ])
    func statuses(code: VaultError.Code, status: Int) {
        #expect(APIProblem.document(VaultError(code, "it failed")).status == status)
    }
}
