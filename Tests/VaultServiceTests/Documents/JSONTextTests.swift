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

    @Test("What turns the direction of a text is escaped, and read again as it was; its neighbours stay as they are")
    func directions() throws {
        let text = "a\u{202A}\u{202E}\u{2066}\u{2069}b"
        let written = try JSONText.of([text])
        #expect(written == #"["a\u202a\u202e\u2066\u2069b"]"#)
        #expect(try JSONText.read([String].self, from: Array(written.utf8)) == [text])
        let others = "\u{2029}\u{202F}\u{2065}\u{206A}€"
        #expect(try JSONText.of([others]).unicodeScalars.contains("\u{202F}"))
        #expect(try JSONText.read([String].self, from: JSONText.bytes(of: [others])) == [others])
    }
}
