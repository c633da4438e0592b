import Testing
import VaultModel

@testable import VaultStorage

@Suite("Network settings in the sealed settings")
struct NetworkMembersTests {
    private static func network() throws -> NetworkSettings {
        var network = NetworkSettings()
        network.proxy = try ProxyAddress("http://me:pass%40word@proxy.example:3128")
        try network.setProxy(.direct, for: "a.example")
        try network.setProxy(ProxyChoice("socks5h://b.example:1080"), for: "[::1]")
        network.proxyFromEnvironment = true
        try network.setUserAgent("Kiosk/2")
        network.addressFamily = .ipv6
        try network.headers.set("Authorization", to: "Bearer a", for: "a.example")
        try network.headers.set("X-Empty", to: "", for: "a.example")
        try network.headers.set("Cookie", to: "b=ä", for: "[::1]:8443")
        network.cookies = try CookieFile(".a.example\tTRUE\t/x\tTRUE\t17\tname\tä value\n")
        for (host, content) in [(nil, 40), ("a.example", 41)] as [(String?, UInt8)] {
            try network.clientCertificates.set(
                pem: Self.pem("CERTIFICATE", content) + Self.pem("PRIVATE KEY", content), for: host)
        }
        return network
    }

    /// A DER sequence with the given content, which is the outer form of every certificate and key.
    private static func pem(_ label: String, _ content: UInt8) -> String {
        let text = Base64.encode([0x30, content] + Array(repeating: 7, count: Int(content)))
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }

    @Test("What was set is read again, apart from the other settings, which only count the changes")
    func roundTrip() throws {
        var settings = VaultSettings()
        #expect(try settings.networkSettings() == NetworkSettings())
        settings.setNetwork(try Self.network())
        #expect(try settings.networkSettings() == Self.network())
        #expect(settings.members.members == ["networkRevision": .integer(1)])
        let names = NetworkMembers.names.subtracting(["authorities"]).union(["revision"])
        #expect(settings.network.members.map { Set($0.members.keys) } == names)
        settings.setNetwork(NetworkSettings())
        #expect(settings.network.members?.members == ["revision": .integer(2)])
    }

    /// Settings as an older version writes them, with the network settings among the others.
    private static func ofOlderVersion() throws -> VaultSettings {
        var settings = VaultSettings()
        settings.setNetwork(try network())
        var members = settings.network.members?.members ?? [:]
        (members["revision"], members["mode"]) = (nil, .string("offline"))
        return try #require(VaultSettings(JSONObject(members)))
    }

    @Test("What an older version kept among the other settings is read, and leaves them when it is set")
    func olderVersion() throws {
        var settings = try Self.ofOlderVersion()
        #expect(try settings.networkSettings() == Self.network())
        settings.mode = nil
        #expect(settings.object["proxy"] != nil, "it stays where it is until it is set")
        settings.setNetwork(try Self.network())
        #expect(settings.object.members.keys.sorted() == ["bytesFetched", "networkRevision"])
    }

    @Test(
        "Members that are not what a writer writes are an error, so that no request goes without its proxy",
        arguments: [
            ("proxy", .string("http://proxy.example")), ("proxy", .integer(1)), ("proxyFor", .string("x")),
            ("proxyFor", .array([.object(["host": .string("a.example")])])), ("proxyFromEnvironment", .integer(1)),
            ("authorities", .string("no certificate")), ("userAgent", .string("a\nb")),
            ("addressFamily", .string("ipv5")), ("headers", .string("x")),
            ("clientCertificates", .string("x")), ("clientCertificates", .array([.object(["pem": .string("x")])])),
            ("cookies", .string("no cookie")), ("cookies", .string("")),
            (
                "headers",
                .array([
                    .object([
                        "host": .string("a.example"),
                        "fields": .array([.object(["name": .string("Range"), "value": .string("b")])]),
                    ])
                ])
            ),
        ] as [(String, JSONValue)])
    func invalid(name: String, value: JSONValue) throws {
        let settings = try #require(VaultSettings(JSONObject([name: value])))
        let error = #expect(throws: VaultError.self) { try settings.networkSettings() }
        #expect(error?.code == .integrity)
    }
}
