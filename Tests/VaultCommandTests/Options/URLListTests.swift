import Testing

@testable import VaultCommand

@Suite("A list of URLs on standard input")
struct URLListTests {
    @Test("Each line is one URL, with any line ending; blanks, empty lines and comments are skipped")
    func lines() {
        let text = "# films\n\nhttps://a.example/1\r\n  https://a.example/2?x=#y \n#https://a.example/3\n"
        #expect(URLList.urls(in: text) == ["https://a.example/1", "https://a.example/2?x=#y"])
        #expect(URLList.urls(in: "").isEmpty)
    }

    @Test("Arguments other than a dash are used as they are, and standard input is not read")
    func arguments() async throws {
        #expect(try await URLList.read(["https://a.example/1", "x"]) == ["https://a.example/1", "x"])
    }
}
