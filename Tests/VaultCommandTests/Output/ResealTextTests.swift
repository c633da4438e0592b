import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("The report of a reseal")
struct ResealTextTests {
    @Test(
        "Damage and titles that keep their key give exit code 4, and the text says what to do",
        arguments: [
            (0, 0, [], 0), (2, 0, ["2 damaged pieces"], 4), (0, 3, ["3 files keep"], 4),
            (1, 1, ["1 damaged piece is", "1 file keeps"], 4),
        ] as [(Int, Int, [String], Int32)])
    func verdict(_ damage: Int, _ problems: Int, _ said: [String], _ status: Int32) throws {
        let text =
            #"{"resources":7,"segments":9,"bytes":5000000,"damage":\#(damage),"problems":\#(problems),"subjects":[]}"#
        let verdict = ResealText(try JSONText.read(ResealReport.self, from: Array(text.utf8)))
        #expect(verdict.status.rawValue == status)
        #expect(verdict.remarks.first == "resealed 7 files (5.0 MB) under new keys")
        let rest = verdict.remarks.dropFirst()
        #expect(rest.count == said.count)
        for (remark, beginning) in zip(rest, said) {
            #expect(remark.hasPrefix(beginning) && remark.contains("run verify"))
        }
    }
}
