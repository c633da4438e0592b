import Testing

@testable import VaultCommand

@Suite struct JSONTextTests {
    private struct Sample: Encodable {
        let url = "https://a.example/b?c"
        let size = OrNull<Int64>(nil)
        let bytes = OrNull<Int64>(5)
        let held: [[Int64]] = [[0, 5], [7, 9]]
    }

    @Test("Members are sorted, slashes are plain, and what is unknown is null") func text() throws {
        #expect(
            try JSONText.of(Sample()) == #"{"bytes":5,"held":[[0,5],[7,9]],"size":null,"url":"https://a.example/b?c"}"#)
    }
}
