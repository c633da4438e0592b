import Testing
import VaultModel

@Suite("Dot segments")
struct DotSegmentsTests {
    @Test(
        "Dot segments are resolved as RFC 3986 §5.2.4 says, and never climb above the root",
        arguments: [
            ("/a/b/c/./../../g", "/a/g"), ("/", "/"), ("/.", "/"), ("/..", "/"), ("/./", "/"), ("/../", "/"),
            ("/a/.", "/a/"),
            ("/a/..", "/"), ("/a/../", "/"), ("/a/./b", "/a/b"), ("/a/b/..", "/a/"), ("/a/b/../..", "/"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("/a//b", "/a//b"), ("/a//..", "/a/"), ("/a//../b", "/a/b"), ("//../a", "/a"), ("//a", "//a"),
            ("/...", "/..."), ("/a/...", "/a/..."),
            ("/.a", "/.a"), ("/a.", "/a."), ("/..a", "/..a"), ("/a..", "/a.."), ("/%2e%2e/a", "/a"),
            ("/a/.%2E/b", "/b"), ("/a/%2e/b", "/a/b"), ("/a/%2e%2e%2e/b", "/a/%2e%2e%2e/b"),
            ("/a/..;x/b", "/a/..;x/b"),
        ])
    func removed(path: String, expected: String) {
        #expect(DotSegments.removed(from: path) == expected)
    }

    @Test(
        "Only whole segments count as dot segments",
        arguments: [
            ("/a/./b", true), ("/..", true), ("/.", true), ("/a/b", false), ("/...", false), ("/.a/..b", false),
            ("/", false), ("", false),
        ])
    func contained(path: String, isFound: Bool) {
        #expect(DotSegments.contains(path) == isFound)
    }

    @Test(
        "Dot segments are found if an origin that decodes too much would see them",
        arguments: [
            ("/a/..%2fb", true), ("/a/..%2Fb", true), ("/a/%2e%2E%2fb", true), ("/a/b%2f../c", true),
            ("/a/..%5cb", true), ("/a%2f..%2fb", true), ("/a/..;x/b", true), ("/a/.;/b", true), ("/a/%2e.;x=1/b", true),
            ("/a/b%2fc", false), ("/a/b;c=..", false), ("/a/..b%2fc", false), ("/a/film%20..%20end.mp4", false),
            ("/a/...%2fb", false), ("/a/b", false), ("/", false),
            ("/a/..%00", true), ("/a/b%00.mp4", true), ("/a/%2500", true), ("/a/%252e%252e/b", true),
            ("/a/%25252e%252e/b", true), ("/a/..%252fb", true), ("/a/%252525252525/b", true), ("/a/..%20/b", true),
            ("/a/..%09", true), ("/a/%c0%ae%c0%ae/b", true), ("/a/..%C0%AFb", true), ("/a/..%c1%9cb", true),
            ("/a/100%25/b", false), ("/a/100%2525/b", false), ("/a/%zz", false), ("/a/%", false), ("/a/%c0b", false),
            ("/a/%20/b", false),
        ])
    func hidden(path: String, mayBeHidden: Bool) {
        #expect(DotSegments.mayBeHidden(in: path) == mayBeHidden)
    }

    @Test("Every path of short segments gives the result of the RFC's own loop, and resolving twice changes nothing")
    func exhaustive() {
        let pieces = ["", ".", "..", "a", "b."]
        for count in 1...5 {
            for code in 0..<power(pieces.count, count) {
                let path =
                    "/"
                    + (0..<count).map { pieces[code / power(pieces.count, $0) % pieces.count] }.joined(separator: "/")
                let removed = DotSegments.removed(from: path)
                #expect(removed == Self.byTheLetter(path), "\(path)")
                #expect(!DotSegments.contains(removed))
            }
        }
    }

    private func power(_ base: Int, _ exponent: Int) -> Int { (0..<exponent).reduce(1) { value, _ in value * base } }

    /// RFC 3986 §5.2.4, steps A to E, literally.
    private static func byTheLetter(_ path: String) -> String {
        var input = Substring(path)
        var output = ""
        while !input.isEmpty {
            if input.hasPrefix("../") {
                input = input.dropFirst(3)
            } else if input.hasPrefix("./") {
                input = input.dropFirst(2)
            } else if input.hasPrefix("/./") {
                input = input.dropFirst(2)
            } else if input == "/." {
                input = "/"
            } else if input.hasPrefix("/../") || input == "/.." {
                input = input == "/.." ? "/" : input.dropFirst(3)
                output = output.lastIndex(of: "/").map { String(output[..<$0]) } ?? ""
            } else if input == "." || input == ".." {
                input = ""
            } else {
                let end = input.dropFirst().firstIndex(of: "/") ?? input.endIndex
                output += input[..<end]
                input = input[end...]
            }
        }
        return output
    }
}
