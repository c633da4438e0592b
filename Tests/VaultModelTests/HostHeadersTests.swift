import Testing

@testable import VaultModel

@Suite("Headers of single hosts")
struct HostHeadersTests {
    private static func headers(_ lines: [(String, String, String)]) throws -> HostHeaders {
        var headers = HostHeaders()
        for (host, name, value) in lines { try headers.set(name, to: value, for: host) }
        return headers
    }

    @Test(
        "Exactly the named host gets them: on all its ports, or on the named one alone, whose own come first",
        arguments: [
            ("http://nas.example/a", ["X-A": "all"]), ("https://nas.example:8443/", ["X-A": "all"]),
            ("https://nas.example/", ["X-A": "tls", "X-B": "b"]),
            ("http://NAS.example:443/", ["X-A": "tls", "X-B": "b"]),
            ("http://a.nas.example/", [:]), ("http://nas.example.evil/", [:]), ("http://other.example:443/", [:]),
            ("http://[::1]:9/", ["X-C": ""]), ("http://[::1]/", [:]),
        ])
    func matching(url: String, expected: [String: String]) throws {
        let headers = try Self.headers([
            ("nas.example", "X-A", "all"), ("nas.example:443", "x-a", "tls"), ("Nas.Example:443", "X-B", "b"),
            ("[::1]:9", "X-C", ""),
        ])
        let found = headers.fields(for: try MediaURL(url)).fields
        #expect(Dictionary(uniqueKeysWithValues: found.map { ($0.name.uppercased(), $0.value) }) == expected)
    }

    @Test("A name has one value, whatever its case; hosts without fields disappear; only names are shown")
    func replacing() throws {
        var headers = try Self.headers([("a.example", "X-Key", "one"), ("a.example", "x-key", "two")])
        #expect(headers.names == ["a.example": ["x-key"]])
        #expect(headers.all.map(\.fields) == [["x-key": "two"]])
        #expect(!"\(headers.all)".contains("two"))
        try headers.set("X-KEY", to: nil, for: "A.example")
        #expect(headers == HostHeaders())
        try headers.set("X-Key", to: " three\t", for: "a.example:80")
        #expect(headers.all.first?.fields["X-Key"] == "three")
        try headers.removeAll(for: "a.example")
        #expect(headers.names.count == 1, "the port has its own")
        try headers.removeAll(for: "a.example:80")
        #expect(headers == HostHeaders())
    }

    @Test(
        "What the vault sets itself, and what would be two fields, is refused without its value, and changes nothing",
        arguments: [
            ("Host", "secret"), ("range", "secret"), ("If-None-Match", "secret"), ("Connection", "secret"),
            ("Accept-Encoding", "secret"), ("Content-Length", "secret"), ("Transfer-Encoding", "secret"),
            ("Proxy-Authorization", "secret"), ("X-A", "secret\r\nX-B: c"), ("X-A", "secret\0"), ("X A", "secret"),
            ("", "secret"), ("X-A", "…"), ("X-A", " … "),
        ])
    func refused(name: String, value: String) throws {
        var headers = try Self.headers([("a.example", "X-A", "kept")])
        let before = headers
        let error = #expect(throws: VaultError.self) { try headers.set(name, to: value, for: "a.example") }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("secret") == false)
        #expect(headers == before)
        #expect(throws: VaultError.self) { try headers.set("X-B", to: "b", for: "http://a.example/") }
    }

    @Test("Hosts, fields of a host and bytes are bounded, and what is one too many changes nothing")
    func bounds() throws {
        var hosts = HostHeaders()
        for number in 0..<NetworkSettings.maxHosts { try hosts.set("X-A", to: "v", for: "h\(number).example") }
        #expect(throws: VaultError.self) { try hosts.set("X-A", to: "v", for: "one-more.example") }
        #expect(hosts.names.count == NetworkSettings.maxHosts)
        var fields = HostHeaders()
        for number in 0..<HostHeaders.maxFields { try fields.set("X-\(number)", to: "v", for: "a.example") }
        #expect(throws: VaultError.self) { try fields.set("X-More", to: "v", for: "a.example") }
        try fields.set("X-0", to: "another", for: "a.example")
        var bytes = HostHeaders()
        let rest = HostHeaders.maxLength - "a.example".utf8.count - "X-A".utf8.count
        #expect(throws: VaultError.self) {
            try bytes.set("X-A", to: String(repeating: "v", count: rest + 1), for: "a.example")
        }
        try bytes.set("X-A", to: String(repeating: "v", count: rest), for: "a.example")
        #expect(throws: VaultError.self) { try bytes.set("B", to: "", for: "a.example") }
    }
}
