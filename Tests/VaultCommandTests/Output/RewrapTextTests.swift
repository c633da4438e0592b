import MediaVault
import Testing
import VaultService

@testable import VaultCommand

@Suite("The report of a rewrap")
struct RewrapTextTests {
    @Test(
        "Only a complete rewrap shuts out older copies of the keyring; a key that stays means exit code 4",
        arguments: [(0, Int32(0)), (1, 4), (7, 4)])
    func verdict(_ unopened: Int, _ status: Int32) throws {
        let verdict = try verdict(keys: 12, unopened: unopened, older: [2])
        #expect(verdict.status.rawValue == status)
        #expect(verdict.remarks.first == "moved 12 keys to generation 3")
        #expect(verdict.remarks.contains { $0.hasPrefix("an older copy of the keyring") } == (unopened == 0))
        #expect(verdict.remarks.contains { $0.hasPrefix("could not open \(unopened) key") } == (unopened > 0))
    }

    @Test(
        "If nothing was rewrapped, no copy is shut out; remaining generations are mentioned only if there are any",
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
        return RewrapText(try JSONText.read(RewrapReport.self, from: Array(text.utf8)))
    }
}
