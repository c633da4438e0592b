import Testing
import VaultService

@testable import VaultCommand

@Suite("The report of a shred")
struct ShredTextTests {
    private func document(_ outcome: String, shredded: Int, failed: Int) throws -> ShredDocument {
        let done = #"{"url":"http://a.example/1","bytes":5,"subject":null,"problem":null}"#
        let problem = #"{"status":404,"title":"not held","code":"notHeld"}"#
        let refused = #"{"url":"http://a.example/2","bytes":null,"subject":null,"problem":\#(problem)}"#
        let titles = Array(repeating: done, count: shredded) + Array(repeating: refused, count: failed)
        let text = #"{"resources":[\#(titles.joined(separator: ","))],"outcome":"\#(outcome)","generation":2}"#
        return try JSONText.read(from: Array(text.utf8))
    }

    struct Case: Sendable {
        var outcome = "destroyed"
        var isQuick = false
        var shredded = 1
        var failed = 0
        /// A fragment of the remark; nil if there must be none.
        var said: String?
        var status: Int32 = 0
    }

    @Test(
        "Only destroyed titles are reported as destroyed; a generation that had to stay means exit code 4",
        arguments: [
            Case(said: "generation 2 is current"),
            Case(failed: 1, said: "generation 2 is current", status: 6),
            Case(shredded: 0, failed: 2, said: nil, status: 6),
            Case(outcome: "removed", shredded: 0, failed: 1, said: nil, status: 6),
            Case(outcome: "removed", isQuick: true, said: "keys retire destroy"),
            Case(outcome: "removed", isQuick: true, failed: 1, said: "keys retire destroy", status: 6),
            Case(outcome: "removed", isQuick: true, shredded: 0, failed: 1, said: nil, status: 6),
            Case(outcome: "removed", said: "not destroyed", status: 4),
            Case(outcome: "removed", failed: 1, said: "not destroyed", status: 4),
        ])
    func verdict(_ example: Case) throws {
        let document = try document(example.outcome, shredded: example.shredded, failed: example.failed)
        let verdict = ShredText(document, isQuick: example.isQuick)
        #expect(verdict.status.rawValue == example.status)
        if let said = example.said {
            #expect(verdict.remark?.contains(said) == true)
        } else {
            #expect(verdict.remark == nil)
        }
    }
}
