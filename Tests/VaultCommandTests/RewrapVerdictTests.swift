import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("What is said of a rewrap")
struct RewrapVerdictTests {
    @Test(
        "Who is shut out is said where every key is wrapped anew, and not where one stays: that is exit code 4",
        arguments: [(0, Int32(0)), (1, 4), (7, 4)])
    func verdict(_ unopened: Int, _ status: Int32) throws {
        let text = #"{"generation":3,"keys":12,"unopened":\#(unopened)}"#
        let verdict = RewrapVerdict(try JSONText.read(RewrapDocument.self, from: Array(text.utf8)))
        #expect(verdict.status.rawValue == status)
        #expect(verdict.remarks.first == "12 keys are wrapped by generation 3")
        #expect(verdict.remarks.contains { $0.hasPrefix("an older copy of the keyring") } == (unopened == 0))
        #expect(verdict.remarks.contains { $0.hasPrefix("\(unopened) keys do not open") } == (unopened > 0))
    }
}
