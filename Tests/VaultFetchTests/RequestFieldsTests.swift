import Testing
import VaultModel

@testable import VaultFetch

@Suite("Request fields")
struct RequestFieldsTests {
    private static func lines(_ request: OriginRequest, at url: String? = nil) throws -> [String] {
        try RequestFields(request).lines(for: url.map { try MediaURL($0) } ?? request.url)
    }

    @Test("Range is inclusive and made of integers; identity is always requested")
    func ranges() throws {
        let url = try MediaURL("http://origin.test/")
        #expect(try Self.lines(OriginRequest(url: url)) == ["Accept-Encoding: identity"])
        #expect(
            try Self.lines(OriginRequest(url: url, first: 0, end: 100, ifRange: "\"v1\""))
                == ["Accept-Encoding: identity", "Range: bytes=0-99", "If-Range: \"v1\""])
        #expect(
            try Self.lines(OriginRequest(url: url, first: 5)) == ["Accept-Encoding: identity", "Range: bytes=5-"])
    }

    @Test("A conditional request carries tag and date as given, and no other line")
    func conditions() throws {
        let url = try MediaURL("http://origin.test/")
        let validators = Validators(entityTag: EntityTag("W/\"v1\""), lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(
            try Self.lines(OriginRequest(url: url, method: .head, ifChangedFrom: validators)) == [
                "Accept-Encoding: identity", "If-None-Match: W/\"v1\"",
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
            ])
        let injected = OriginRequest(url: url, ifChangedFrom: Validators(lastModified: "x\r\nX-Evil: 1"))
        #expect(throws: VaultError.self) { try Self.lines(injected) }
        for name in ["If-None-Match", "if-modified-since", "If-Match", "If-Unmodified-Since"] {
            let own = OriginRequest(url: url, fields: HeaderFields(dictionaryLiteral: (name, "x")))
            #expect(throws: VaultError.self, "\(name)") { try Self.lines(own) }
        }
    }

    @Test(
        "The caller's fields and credentials go only to the registered origin",
        arguments: [
            ("http://origin.test/other?x", true), ("http://origin.test:80/", true), ("https://origin.test/", false),
            ("http://origin.test:8080/", false), ("http://cdn.origin.test/", false),
            ("http://origin.test.evil/", false),
        ])
    func secrets(_ url: String, isOwn: Bool) throws {
        let request = OriginRequest(
            url: try MediaURL("http://user:pass@origin.test/"), first: 7, ifRange: "\"v1\"",
            fields: HeaderFields(["X-Token": "secret"]))
        let expected = ["Accept-Encoding: identity", "Range: bytes=7-", "If-Range: \"v1\""]
        let own = ["X-Token: secret", "Authorization: Basic dXNlcjpwYXNz"]
        #expect(try Self.lines(request, at: url) == (isOwn ? expected + own : expected))
    }

    @Test("The caller's Authorization replaces the URL's")
    func authorization() throws {
        let request = OriginRequest(
            url: try MediaURL("http://user:pass@origin.test/"), fields: HeaderFields(["authorization": "Bearer secret"])
        )
        #expect(try Self.lines(request) == ["Accept-Encoding: identity", "authorization: Bearer secret"])
    }

    @Test("A field without a value is sent, not dropped")
    func empty() throws {
        let request = OriginRequest(url: try MediaURL("http://origin.test/"), fields: HeaderFields(["X-Empty": ""]))
        #expect(try Self.lines(request).last == "X-Empty;")
    }

    @Test(
        "A field with a line break, or an invalid field, is refused without repeating its value",
        arguments: [
            ("X-A", "secret\r\nX-B: c"), ("X-A", "secret\nX-B: c"), ("X-A", "secret\rc"), ("X-A", "secret\0"),
            ("X-A", "secret\u{7F}"), ("X-A", "\u{1}secret"), ("X A", "secret"), ("", "secret"), ("X-A:", "secret"),
            ("X-A\r\nX-B", "secret"), ("Ä", "secret"),
        ])
    func controlCharacters(_ name: String, _ value: String) throws {
        var fields = HeaderFields()
        fields.append(name: name, value: value)
        let request = OriginRequest(url: try MediaURL("http://origin.test/"), fields: fields)
        let error = try #require(throws: VaultError.self) { try RequestFields(request) }
        #expect(error.code == .invalidArgument)
        #expect(!error.message.contains("secret") && !error.message.contains("\n"))
    }

    @Test("A validator with a line break is not echoed")
    func poisonedValidator() throws {
        let request = OriginRequest(url: try MediaURL("http://origin.test/"), first: 0, ifRange: "\"v\r\nX: y\"")
        #expect(throws: VaultError.self) { try RequestFields(request) }
    }

    @Test(
        "The caller cannot set the fields that frame the message",
        arguments: [
            "host", "Range", "If-Range", "Accept-Encoding", "Content-Length", "Transfer-Encoding", "Connection",
            "Proxy-Authorization", "proxy-connection",
        ])
    func reserved(_ name: String) throws {
        var fields = HeaderFields()
        fields.append(name: name, value: "x")
        let request = OriginRequest(url: try MediaURL("http://origin.test/"), fields: fields)
        #expect(throws: VaultError.self) { try RequestFields(request) }
    }
}
