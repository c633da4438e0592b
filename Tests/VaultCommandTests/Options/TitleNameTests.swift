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
        "A URL as list shows it is the URL that it stands for",
        arguments: [
            ("http://a.example/Ein Füchslein.mp4", "http://a.example/Ein%20F%C3%BCchslein.mp4"),
            ("http://a.example/a\\b", "http://a.example/a%5Cb"),
        ])
    func shown(typed: String, url: String) throws {
        #expect(try TitleName(typed) == .url(MediaURL(url)))
        #expect(ShownURL.of(url) == typed)
    }

    @Test(
        "A URL is shown with its escapes if it would be another without them",
        arguments: [
            "http://a.example/a%3Fb", "http://a.example/a%23b", "http://a.example/a%2Fb", "http://a.example/a%0Ab",
        ])
    func kept(url: String) {
        #expect(ShownURL.of(url) == url)
    }

    @Test("In a list, a URL has no blanks")
    func words() {
        #expect(throws: VaultError.self) { try TitleName(word: "http://a.example/a b") }
    }

    @Test(
        "What is neither is refused with a sentence that says what was expected",
        arguments: [
            ("k3v7q2m", "8 of the characters a-z 2-7"), ("K3V7Q2MA", "8 of the characters a-z 2-7"),
            ("film", "\"film\" is neither a URL"), ("", "scheme"), ("a.example/film", "\"a.example/film\" is neither"),
            ("Talk 10", "\"Talk 10\" is neither a URL"), ("Talk 10", "mediavault list --search"),
            ("user:pw@a.example/film", "\"…a.example/film\" is neither"),
        ])
    func refused(text: String, says: String) {
        let error = #expect(throws: VaultError.self) { try TitleName(text) }
        #expect(error?.code == .invalidURL && error?.message.contains(says) == true, "\(error?.message ?? "")")
    }
}
