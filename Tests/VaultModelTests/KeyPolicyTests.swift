import SeededRandom
import Testing
import VaultModel

@Suite("Key policy: which URLs name one resource")
struct KeyPolicyTests {
    private static func policy() throws -> KeyPolicy {
        var policy = KeyPolicy()
        try policy.ignore(["token", "exp ires", "é"])
        try policy.ignore(["sig"], on: "CDN.example")
        try policy.map("cdn2.example", to: "cdn.example")
        try policy.map("cdn3.example", to: "cdn2.example")
        try policy.map("edge.example:8443", to: "origin.example:9000")
        try policy.map("old.example", to: "secure.example:443")
        return policy
    }

    @Test(
        "The rules name a URL; its items keep their order and bytes",
        arguments: [
            ("http://a.example/x?b=2&token=1&a=%7e", "http://a.example/x?b=2&a=%7e"),
            ("http://a.example/x?token=1", "http://a.example/x"),
            ("http://a.example/x?token", "http://a.example/x"),
            ("http://a.example/x?token=", "http://a.example/x"),
            ("http://a.example/x?%74oken=1&%74%6F%6b%65n=2", "http://a.example/x"),
            ("http://a.example/x?token%3D=1", "http://a.example/x?token%3D=1"),
            ("http://a.example/x?Token=1&tokens=2", "http://a.example/x?Token=1&tokens=2"),
            ("http://a.example/x?a=token&token=b=c", "http://a.example/x?a=token"),
            ("http://a.example/x?a&&token=1&b", "http://a.example/x?a&&b"),
            ("http://a.example/x?token=1&", "http://a.example/x"),
            ("http://a.example/x?exp%20ires=1&a=1", "http://a.example/x?a=1"),
            ("http://a.example/x?é=1&a=1", "http://a.example/x?a=1"),
            ("http://a.example/x?%C3%A9=1&a=1", "http://a.example/x?a=1"),
            ("http://a.example/x?to%ken=1", "http://a.example/x?to%ken=1"),
            ("http://a.example/x?sig=1", "http://a.example/x?sig=1"),
            ("http://cdn.example/x?sig=1&token=2", "http://cdn.example/x"),
            ("http://cdn.example:8080/x?sig=1", "http://cdn.example:8080/x"),
            ("https://cdn2.example/x?sig=1", "https://cdn.example/x"),
            ("http://cdn3.example/x?sig=1&y", "http://cdn.example/x?y"),
            ("http://cdn2.example:8080/x", "http://cdn2.example:8080/x"),
            ("https://edge.example:8443/x", "https://origin.example:9000/x"),
            ("https://edge.example/x", "https://edge.example/x"),
            ("https://old.example/x", "https://secure.example/x"),
            ("http://old.example/x", "http://secure.example:443/x"),
            ("http://user:pw@cdn2.example/x", "http://cdn.example/x"),
        ])
    func name(text: String, name: String) throws {
        #expect(try Self.policy().name(of: MediaURL(text)) == name)
    }

    @Test("Without rules, the canonical form names a URL")
    func empty() throws {
        let url = try MediaURL("HTTP://A.example:80/%7Ex?token=1&&")
        #expect(KeyPolicy().name(of: url) == url.canonical)
    }

    @Test("A name maps to itself, and two URLs that differ only in ignored items share it")
    func property() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        let policy = try Self.policy()
        let hosts = [
            "a.example", "cdn.example", "cdn2.example", "cdn3.example", "edge.example:8443", "old.example:443",
        ]
        let ignored = ["token=1", "%74oken", "tok%65n=%zz", "token=é", "exp%20ires=", "token"]
        let kept = ["a=1", "b", "", "tokenx=1", "%zz=token", "A=%7e&", "sigx=1", "=token", "a=\"q\""]
        for _ in 0..<2000 {
            let items = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in kept.randomElement(using: &random)
            }
            let base = ["http", "https"].randomElement(using: &random)! + "://" + hosts.randomElement(using: &random)!
            let plain = items.joined(separator: "&")
            var more = items
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                more.insert(ignored.randomElement(using: &random)!, at: Int.random(in: 0...more.count, using: &random))
            }
            let name = policy.name(of: try MediaURL("\(base)/x?\(plain)"))
            #expect(policy.name(of: try MediaURL(name)) == name, "seed \(seed): \(base)/x?\(plain)")
            #expect(
                policy.name(of: try MediaURL("\(base)/x?\(more.joined(separator: "&"))")) == name,
                "seed \(seed): \(more)")
        }
    }

    @Test("Rules replace those for the same host, and an empty list of names removes a rule")
    func replacing() throws {
        var policy = KeyPolicy()
        try policy.ignore(["b", "a", "a"])
        try policy.ignore(["c"], on: "x.example")
        #expect(
            policy.ignoreQuery.map(\.names) == [["a", "b"], ["c"]]
                && policy.ignoreQuery.map(\.host) == [nil, "x.example"])
        try policy.ignore(["d"], on: "X.example")
        try policy.ignore([])
        #expect(policy.ignoreQuery.map(\.names) == [["d"]])
        try policy.map("a.example", to: "b.example")
        try policy.map("a.example", to: nil)
        #expect(policy.mapHost.isEmpty)
    }

    @Test("Allowed hosts are listed without a port, and match in any case")
    func allowed() throws {
        var policy = KeyPolicy()
        try policy.allow("NAS.local")
        try policy.allow("[FE80::1]")
        #expect(
            policy.allows(host: "nas.local") && policy.allows(host: "NAS.LOCAL") && policy.allows(host: "[fe80::1]"))
        #expect(!policy.allows(host: "local") && !policy.allows(host: "x.nas.local"))
        try policy.allow("nas.local", false)
        #expect(!policy.allows(host: "nas.local"))
    }

    @Test(
        "An invalid rule is refused, and leaves the policy unchanged",
        arguments: [
            { try $0.ignore([""]) }, { try $0.ignore(["a\u{0}"]) },
            { try $0.ignore([String(repeating: "x", count: 257)]) },
            { try $0.ignore(["a"], on: "a.example:80") }, { try $0.ignore((0..<257).map(String.init)) },
            { try $0.map("a.example/x", to: "b.example") }, { try $0.map("u@a.example", to: "b.example") },
            { try $0.map("a.example:0", to: "b.example") }, { try $0.map("", to: "b.example") },
            { try $0.map("a.example", to: "b?x") }, { try $0.map("http://a.example", to: "b.example") },
            { try $0.map("secure.example", to: "old.example") }, { try $0.map("cdn.example", to: "cdn3.example") },
            { try $0.allow("nas.local:80") }, { try $0.allow("a b") },
        ] as [@Sendable (inout KeyPolicy) throws -> Void])
    func refused(rule: @Sendable (inout KeyPolicy) throws -> Void) throws {
        let before = try Self.policy()
        var policy = before
        let error = #expect(throws: VaultError.self) { try rule(&policy) }
        #expect(error?.code == .invalidArgument)
        #expect(policy == before)
    }
}
