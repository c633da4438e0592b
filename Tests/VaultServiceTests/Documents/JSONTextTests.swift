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

    @Test("Control characters that a terminal obeys are escaped, and read again as they were")
    func controls() throws {
        let text = "a\u{1B}\u{7F}\u{80}\u{9B}\u{9F}\u{A0}é"
        let written = try JSONText.of([text])
        #expect(written == "[\"a\\u001b\\u007f\\u0080\\u009b\\u009f\u{A0}é\"]")
        #expect(try JSONText.read([String].self, from: Array(written.utf8)) == [text])
    }
}
