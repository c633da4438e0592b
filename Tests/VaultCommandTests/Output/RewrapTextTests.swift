import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("What is said of a rewrap")
struct RewrapTextTests {
    @Test(
        "Who is shut out is said where every key is wrapped anew, and not where one stays: that is exit code 4",
        arguments: [(0, Int32(0)), (1, 4), (7, 4)])
    func verdict(_ unopened: Int, _ status: Int32) throws {
        let verdict = try verdict(keys: 12, unopened: unopened, older: [2])
        #expect(verdict.status.rawValue == status)
        #expect(verdict.remarks.first == "moved 12 keys to generation 3")
        #expect(verdict.remarks.contains { $0.hasPrefix("an older copy of the keyring") } == (unopened == 0))
        #expect(verdict.remarks.contains { $0.hasPrefix("\(unopened) keys do not open") } == (unopened > 0))
    }

    @Test(
        "Nobody is said to be shut out where nothing was wrapped anew, and nothing to be left where it is not",
        arguments: [
            (0, [], false, false), (0, [1], false, true), (5, [1, 2], true, true), (5, [], true, false),
        ] as [(Int, [Int], Bool, Bool)])
    func effect(_ keys: Int, _ older: [Int], _ cutsOff: Bool, _ leaves: Bool) throws {
        let said = try verdict(keys: keys, unopened: 0, older: older).remarks.joined(separator: "\n")
        #expect(said.contains("an older copy of the keyring does not open") == cutsOff)
        #expect(said.contains("the older generations are still in the keyring") == leaves)
        #expect(said.contains("generation 3 already wraps every key") == (keys == 0))
    }

    private func verdict(keys: Int, unopened: Int, older: [Int]) throws -> RewrapText {
        let text = #"{"generation":3,"keys":\#(keys),"unopened":\#(unopened),"older":\#(older)}"#
        return RewrapText(try JSONText.read(RewrapDocument.self, from: Array(text.utf8)))
    }
}
