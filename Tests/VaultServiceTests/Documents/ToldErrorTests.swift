import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Errors as clients see them")
struct ToldErrorTests {
    @Test("A missing byte is unreachable if the origin could be asked, and not held offline")
    func missing() {
        let error = VaultError(.notHeld, "the bytes from 5 on are not held")
        #expect(error.told(in: .online).code == .unreachable)
        #expect(error.told(in: .offline).code == .notHeld)
        #expect(VaultError(.integrity, "damaged").told(in: .online).code == .integrity)
    }

    @Test("A problem document decodes to the error it was created from")
    func roundTrip() throws {
        var error = VaultError(.refused, "the origin refused film.mp4")
        (error.originStatus, error.retryAfter, error.firstMissing, error.length) = (429, 7, 5, 9)
        let document: ProblemDocument = try JSONText.read(from: APIProblem.document(error).json)
        #expect(document.error == error && document.status == 503)
        #expect(ProblemDocument(status: 404, title: "Not Found").error == nil)
    }

    @Test(
        "Each error code of an API request maps to an HTTP status",
        arguments: [
            (VaultError.Code.invalidURL, 400), (.invalidArgument, 400), (.notHeld, 404), (.unreachable, 504),
            (.invalidResponse, 502), (.diskFull, 507), (.closed, 503), (.storage, 500),
        ])
    func statuses(code: VaultError.Code, status: Int) {
        #expect(APIProblem.document(VaultError(code, "it failed")).status == status)
    }
}
