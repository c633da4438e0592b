import Testing
import VaultModel

import VaultService

@Suite struct JSONTextTests {
    private struct Sample: Codable {
        var url = "https://a.example/b?c"
        @OrNull var size: Int64? = nil
        @OrNull var bytes: Int64? = 5
        var held: [[Int64]] = [[0, 5], [7, 9]]
    }

    @Test("Members are sorted, slashes are not escaped, and unknown values are null") func text() throws {
        #expect(
            try JSONText.of(Sample()) == #"{"bytes":5,"held":[[0,5],[7,9]],"size":null,"url":"https://a.example/b?c"}"#)
    }
}
