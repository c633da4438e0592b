import Testing

@testable import VaultModel

@Suite("Cookie files")
struct CookieFileTests {
    private static func line(
        _ domain: String, below includesSubdomains: Bool = false, path: String = "/", secure: Bool = false,
        expires: String = "0", name: String = "a", value: String = "1"
    ) -> String {
        [domain, includesSubdomains ? "TRUE" : "FALSE", path, secure ? "TRUE" : "FALSE", expires, name, value]
            .joined(separator: "\t") + "\n"
    }

    private static func sent(_ text: String, to url: String, now: Int64 = 1000) throws -> String? {
        try CookieFile(text).value(for: MediaURL(url), now: now)
    }

    @Test("Comments, empty lines, a byte-order mark and both line ends are read, and an HttpOnly line is a cookie")
    func reading() throws {
        let text =
            "\u{FEFF}# Netscape HTTP Cookie File\r\n\r\n  \n#a.example\tFALSE\t/\tFALSE\t0\tcomment\t1\n"
            + "#HttpOnly_" + Self.line("a.example").replacing("\n", with: "\r\n")
            + "A.example\tfalse\t/\tFalse\t\tb\t2 \"x\""
        let file = try CookieFile(text)
        #expect(file.count == 2)
        #expect(file.value(for: try MediaURL("http://a.example/"), now: 1000) == "a=1; b=2 \"x\"")
        #expect(try CookieFile(file.secretText) == file)
    }

    @Test(
        "A cookie goes to its own host, and to names below its domain only if its line says so",
        arguments: [
            (".a.example", true, "a.example", true), (".a.example", true, "b.a.example", true),
            ("a.example", true, "c.b.a.example", true), (".a.example", false, "a.example", true),
            (".a.example", false, "b.a.example", false), ("a.example", true, "ba.example", false),
            ("a.example", true, "example", false), ("a.example", true, "a.example.evil.example", false),
            ("example", true, "a.example", false), ("example", true, "example", true),
            ("127.0.0.1", true, "127.0.0.1", true), ("0.0.1", true, "127.0.0.1", false),
            ("[::1]", true, "[::1]", true), ("a.example.", true, "a.example", false),
            ("B\u{FC}cher.example", false, "xn--bcher-kva.example", true),
        ])
    func domains(domain: String, includesSubdomains: Bool, host: String, isSent: Bool) throws {
        let text = Self.line(domain, below: includesSubdomains)
        for url in ["http://\(host)/", "https://\(host):8443/x?y"] {
            #expect(try Self.sent(text, to: url) == (isSent ? "a=1" : nil), "\(url)")
        }
    }

    @Test(
        "A cookie goes to its path and what is below it",
        arguments: [
            ("/", "/", true), ("/", "/film.mp4", true), ("/films", "/films", true), ("/films", "/films/a.mp4", true),
            ("/films/", "/films/a.mp4", true), ("/films/", "/films", false), ("/films", "/filmsets/a.mp4", false),
            ("/films", "/Films/a.mp4", false), ("/films", "/", false),
        ])
    func paths(path: String, asked: String, isSent: Bool) throws {
        let text = Self.line("a.example", path: path)
        #expect(try Self.sent(text, to: "http://a.example\(asked)?q=/films") == (isSent ? "a=1" : nil))
    }

    @Test("A secure cookie goes by TLS alone, to any port")
    func secure() throws {
        let text = Self.line("a.example", secure: true)
        #expect(try Self.sent(text, to: "http://a.example/") == nil)
        #expect(try Self.sent(text, to: "http://a.example:443/") == nil)
        #expect(try Self.sent(text, to: "https://a.example:8443/") == "a=1")
    }

    @Test(
        "A cookie is sent until it expires; without a time it does not expire",
        arguments: [
            ("0", true), ("", true), ("999", false), ("1000", false), ("1001", true), ("1001.75", true),
            ("99999999999999999999999", true),
        ])
    func expiry(expires: String, isSent: Bool) throws {
        let file = try CookieFile(Self.line("a.example", expires: expires))
        for file in [file, try CookieFile(file.secretText)] {
            #expect((file.value(for: try MediaURL("http://a.example/"), now: 1000) != nil) == isSent)
        }
    }

    @Test("Longer paths come first; of the same name, domain and path the later one counts; names are not unique")
    func order() throws {
        let text =
            Self.line("a.example", name: "one", value: "1") + Self.line("a.example", name: "two", value: "2")
            + Self.line("a.example", path: "/films", name: "one", value: "3")
            + Self.line("a.example", name: "one", value: "4")
        #expect(try CookieFile(text).count == 3)
        #expect(try Self.sent(text, to: "http://a.example/films/x") == "one=3; one=4; two=2")
    }

    @Test(
        "A line that is no cookie is named by its number, and nothing of it is repeated",
        arguments: [
            "a.example\tTRUE\t/\tFALSE\t0", "a.example\tTRUE\t/\tFALSE\t0\tsecret\t1\t2",
            "a.example\tYES\t/\tFALSE\t0\tsecret\t1", "a.example\tTRUE\tfilms\tFALSE\t0\tsecret\t1",
            "a.example\tTRUE\t/\tFALSE\tsecret\ta\t1", "a.example\tTRUE\t/\tFALSE\t-1\tsecret\t1",
            "a.example\tTRUE\t/\tFALSE\t1.x\tsecret\t1", "secret example\tTRUE\t/\tFALSE\t0\ta\t1",
            "a.example:80\tTRUE\t/\tFALSE\t0\tsecret\t1", "\tTRUE\t/\tFALSE\t0\tsecret\t1",
            "a.example\tTRUE\t/\tFALSE\t0\tse=cret\t1", "a.example\tTRUE\t/\tFALSE\t0\ta\tsecret;b=c",
            "a.example\tTRUE\t/\tFALSE\t0\ta\tsecret\rX", "a.example\tTRUE\t/\tFALSE\t0\ta\tsecret\0",
            "a.example\tTRUE\t/\tFALSE\t0\t\t",
            "a.example\tTRUE\t/\tFALSE\t0\ta\tsecret\u{FFFD}", "a.example TRUE / FALSE 0 secret 1", "{\"secret\": 1}",
        ])
    func malformed(line: String) {
        let error = #expect(throws: VaultError.self) { try CookieFile("# comment\n\n\(line)\n") }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.hasPrefix("line 3 of the cookie file") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test("A file without cookies, with too many, or with too many bytes is refused")
    func bounds() throws {
        for text in ["", "# Netscape HTTP Cookie File\n", "\n\n"] {
            #expect(throws: VaultError.self) { try CookieFile(text) }
        }
        let most = (0..<CookieFile.maxCount).map { Self.line("a.example", name: "n\($0)") }.joined()
        #expect(try CookieFile(most).count == CookieFile.maxCount)
        #expect(throws: VaultError.self) { try CookieFile(most + Self.line("a.example", name: "more")) }
        let rest = CookieFile.maxLength - Self.line("a.example", value: "").utf8.count
        let longest = try CookieFile(Self.line("a.example", value: String(repeating: "v", count: rest)))
        #expect(try CookieFile(longest.secretText) == longest)
        #expect(throws: VaultError.self) {
            try CookieFile(Self.line("a.example", value: String(repeating: "v", count: rest + 1)))
        }
        // It would be longer in its stored form than in the file.
        let short = Self.line("a.example", expires: "", value: String(repeating: "v", count: rest + 1))
        #expect(short.utf8.count == CookieFile.maxLength)
        #expect(throws: VaultError.self) { try CookieFile(short) }
    }
}
