import SeededRandom
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

    @Test("A resolver of many references returns what each means alone")
    func resolver() throws {
        let base = try MediaURL("http://u:p@a:8080/b/c/d;p?q")
        let references = [
            "g", "g.ts", "g/h.ts?x=1&y=/../z", "/g", "/g?y", "//g/x", "?y", "", "#s", "g#s", ".", "./g", "../g", ".g",
            "g/.h",
            "g/../h", "/./g", "/../g", "//", "a//b", "/a//b", "a/b/", "a:b", "a/b:c", "a%2Fb", "a?b%2Fc#d", "a b",
            "é?é",
            "a\\b", "a\u{7}b", "http", "https.ts", "http-1/x:y/z", "httpx:/y/z", "http://h/x", "http://h/y?z=1:2@3",
            "http://h:81/x", "http://h.evil/x", "http://hx", "http://h", "http://h?x", "http://v:w@h/x",
            "http://v:w@h/y",
            "HTTP://H/x", "http://h//x", "http://h/./x", "https://h/x", "https://h/y", "g;x=1,2+3~4_5&6", "g(1)", "a?",
            "/?x", "a?b?c", String(repeating: "x", count: 5000), String(repeating: "x", count: 9000),
        ]
        for first in references {
            for second in references {
                var resolver = URLResolver(base)
                _ = try? resolver.resolve(Array(first.utf8)[...])
                let expected = try? URLReference.resolve(second, at: base)
                let found = try? resolver.resolve(Array(second.utf8)[...])
                #expect(found == expected, "\(second) after \(first)")
                #expect(found?.path == expected?.path && found?.query == expected?.query, "\(second) after \(first)")
            }
        }
    }

    @Test("Random references are resolved as the algorithm of RFC 3986 §5.2 does")
    func algorithm() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("URLReferenceTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "a", "b.ts", "/", "/", "..", ".", "?", "=", "%2F", ";", ":", "@", "1", "~", "-", "//", "../", "./",
        ]
        let base = try MediaURL("https://origin.example/one/two/three;p?q=1")
        var resolver = URLResolver(base)
        var resolved = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...9, using: &random))
                .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            // Another scheme or host is another URL, which the algorithm does not resolve.
            guard !text.hasPrefix("//"), URLReference.scheme(of: Array(text.utf8)[...]) == nil else { continue }
            let found = try resolver.resolve(Array(text.utf8)[...])
            #expect(found.absoluteString == RFC3986.resolved(text, at: base), "seed \(seed): \(text)")
            resolved += 1
        }
        #expect(resolved > 10_000)
    }

    @Test(
        "A scheme is a letter and what may follow it, up to a colon",
        arguments: [
            ("http://a", "http"), ("HTTP:", "http"), ("a+b-c.1:x", "a+b-c.1"), ("1a:b", nil), ("a/b:c", nil),
            ("a", nil),
            (":a", nil), ("", nil), ("a b:c", nil),
        ] as [(String, String?)])
    func scheme(reference: String, scheme: String?) {
        #expect(URLReference.scheme(of: Array(reference.utf8)[...]) == scheme)
    }
}

/// RFC 3986 §5.2.2 to §5.2.4 as they are written, for references without scheme and authority.
private enum RFC3986 {
    static func resolved(_ reference: String, at base: MediaURL) -> String {
        let question = reference.firstIndex(of: "?")
        let path = String(reference[..<(question ?? reference.endIndex)])
        var query = question.map { String(reference[reference.index(after: $0)...]) }
        let target: String
        if path.isEmpty {
            target = base.path
            query = query ?? base.query
        } else if path.hasPrefix("/") {
            target = withoutDotSegments(path)
        } else {
            let folder = base.path[...(base.path.lastIndex(of: "/") ?? base.path.startIndex)]
            target = withoutDotSegments(folder + path)
        }
        return "\(base.scheme)://\(base.authority)\(target)" + (query.map { "?\($0)" } ?? "")
    }

    private static func withoutDotSegments(_ path: String) -> String {
        var (input, output) = (path, "")
        while !input.isEmpty {
            if input.hasPrefix("../") {
                input.removeFirst(3)
            } else if input.hasPrefix("./") {
                input.removeFirst(2)
            } else if input.hasPrefix("/./") {
                input.removeFirst(2)
            } else if input == "/." {
                input = "/"
            } else if input.hasPrefix("/../") || input == "/.." {
                input = input == "/.." ? "/" : String(input.dropFirst(3))
                output = output.lastIndex(of: "/").map { String(output[..<$0]) } ?? ""
            } else if input == "." || input == ".." {
                input = ""
            } else {
                let end = input.dropFirst().firstIndex(of: "/") ?? input.endIndex
                output += input[..<end]
                input = String(input[end...])
            }
        }
        return output
    }
}
