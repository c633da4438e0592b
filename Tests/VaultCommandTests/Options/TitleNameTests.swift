import MediaVault
import Testing

@testable import VaultCommand

@Suite("Titles as arguments name them")
struct TitleNameTests {
    @Test("What has a colon is a URL, and eight characters of an id are an id")
    func forms() throws {
        #expect(try TitleName("k3v7q2ma") == .id(#require(TitleID("k3v7q2ma"))))
        #expect(try TitleName("http://a.example/k3v7q2ma") == .url(MediaURL("http://a.example/k3v7q2ma")))
    }

    @Test(
        "What is neither is refused with a sentence that says what was expected",
        arguments: [
            ("k3v7q2m", "8 of the characters a-z 2-7"), ("K3V7Q2MA", "8 of the characters a-z 2-7"),
            ("film", "8 of the characters a-z 2-7"), ("", "scheme"), ("a.example/film", "scheme"),
        ])
    func refused(text: String, says: String) {
        let error = #expect(throws: VaultError.self) { try TitleName(text) }
        #expect(error?.code == .invalidURL && error?.message.contains(says) == true, "\(error?.message ?? "")")
    }
}
