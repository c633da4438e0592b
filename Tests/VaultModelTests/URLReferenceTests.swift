import Testing
import VaultModel

@Suite("URL references")
struct URLReferenceTests {
    @Test(
        "A reference is resolved as RFC 3986 §5.4 shows",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y"),
            ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
            ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"), ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"), ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("https://h:8443/x?y", "https://h:8443/x?y"), ("HTTP://H/x", "http://h/x"),
            ("a b?c d", "http://a/b/c/a%20b?c%20d"), ("a//b%2Fc", "http://a/b/c/a//b%2Fc"),
        ])
    func resolution(_ reference: String, _ url: String) throws {
        let base = try MediaURL("http://a/b/c/d;p?q")
        #expect(try URLReference.resolve(reference, at: base).absoluteString == url)
    }

    @Test("The port of the base stays")
    func port() throws {
        let base = try MediaURL("http://a:8080/b")
        #expect(try URLReference.resolve("/c", at: base).absoluteString == "http://a:8080/c")
    }

    @Test(
        "A reference that leads to no http or https URL is refused",
        arguments: [
            "g:h", "file:///etc/passwd", "ftp://a/b", "javascript:1", "http:g", "http://", "//", "a\\b", "a\u{7}b",
        ])
    func refusals(_ reference: String) throws {
        let base = try MediaURL("http://a/b/c/d;p?q")
        #expect(throws: VaultError.self) { try URLReference.resolve(reference, at: base) }
    }
}
