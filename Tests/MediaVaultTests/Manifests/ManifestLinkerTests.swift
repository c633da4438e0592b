import Testing
import VaultManifest
import VaultModel

@testable import MediaVault

@Suite("Which link stands for a reference in a manifest")
struct ManifestLinkerTests {
    private static let here = "https://a.example/films/one/index.m3u8"
    private static let someone: [UInt8] = Array(repeating: 7, count: 32)

    /// The link of a manifest that opens the folder `/films/`, unless it opens the manifest alone.
    private static func linker(
        _ url: String = here, from base: String? = nil, isDerived: Bool = false, principal: [UInt8]? = nil,
        opensFolder: Bool = true
    ) throws -> ManifestLinker {
        let named = try MediaURL(url)
        let scope = LinkScope(
            url: named, capability: opensFolder ? "capability" : nil, folder: opensFolder ? "/films/" : nil,
            expires: 1_800_000_000)
        return ManifestLinker(
            scope: scope, base: try base.map { try MediaURL($0) } ?? named, isDerived: isDerived, principal: principal)
    }

    private static func reference(_ url: String) throws -> ManifestReference {
        ManifestReference(try MediaURL(url), .segment)
    }

    @Test(
        "What the manifest's own capability opens keeps it; anything else gets one of its own",
        arguments: [
            ("https://a.example/films/one/s1.ts", .inScope), ("https://a.example/films/s1.ts", .inScope),
            ("https://a.example/films/one/%2e%2e%2fs1.ts", .inScope),
            ("https://a.example/filmsX/s1.ts", .folder(.named)),
            ("https://a.example/s1.ts", .folder(.named)), ("https://a.example:8443/films/s1.ts", .folder(.derived)),
            ("http://a.example/films/s1.ts", .folder(.derived)), ("https://b.example/films/s1.ts", .folder(.derived)),
            ("http://127.0.0.1/films/s1.ts", .folder(.derived)), ("http://169.254.169.254/latest", .folder(.derived)),
            ("https://a.example.b.example/films/s1.ts", .folder(.derived)),
        ] as [(String, ManifestLinker.Link)])
    func scope(url: String, link: ManifestLinker.Link) throws {
        #expect(try Self.linker().link(to: Self.reference(url)) == link)
    }

    @Test("A manifest that was derived never leads further than public addresses")
    func derived() throws {
        let linker = try Self.linker(isDerived: true)
        #expect(try linker.link(to: Self.reference("https://a.example/s1.ts")) == .folder(.derived))
        #expect(try linker.link(to: Self.reference("https://b.example/s1.ts")) == .folder(.derived))
        // In scope, the capability is the manifest's own, which is derived.
        #expect(try linker.link(to: Self.reference("https://a.example/films/s1.ts")) == .inScope)
        let other = try Self.linker(isDerived: true, principal: Self.someone)
        #expect(
            try other.link(to: Self.reference("https://a.example/s1.ts"))
                == .target(.derived, principal: Self.someone))
    }

    @Test("A link to the manifest alone yields capabilities for folders")
    func single() throws {
        let linker = try Self.linker(opensFolder: false)
        #expect(try linker.link(to: Self.reference("https://a.example/films/one/s1.ts")) == .folder(.named))
        #expect(try linker.link(to: Self.reference("https://b.example/films/one/s1.ts")) == .folder(.derived))
    }

    @Test("A principal's manifest gives the principal to what its own origin names, target by target, and to no other")
    func principal() throws {
        let linker = try Self.linker(principal: Self.someone)
        let own = ManifestLinker.Link.target(.named, principal: Self.someone)
        #expect(try linker.link(to: Self.reference("https://a.example/films/one/s1.ts")) == own)
        #expect(try linker.link(to: Self.reference("https://a.example/keys/k")) == own)
        for url in ["https://b.example/s1.ts", "http://a.example/s1.ts", "https://a.example:444/s1.ts"] {
            #expect(try linker.link(to: Self.reference(url)) == .folder(.derived))
        }
        let folder = ManifestReference(try MediaURL("https://a.example/films/one/"), .segment, isFolder: true)
        #expect(linker.link(to: folder) == .inScope, "the manifest's own capability carries no principal")
        let moved = try Self.linker(from: "https://cdn.example/x/index.m3u8", principal: Self.someone)
        for url in ["https://a.example/films/one/s1.ts", "https://cdn.example/x/s1.ts"] {
            #expect(try moved.link(to: Self.reference(url)) == .folder(.derived), "another origin chose this")
        }
    }

    @Test("After a redirect to another authority, everything is derived; by TLS at the same host, nothing more is")
    func redirected() throws {
        let moved = try Self.linker(from: "https://cdn.example/x/index.m3u8")
        #expect(try moved.link(to: Self.reference("https://cdn.example/x/s1.ts")) == .folder(.derived))
        #expect(try moved.link(to: Self.reference("https://a.example/films/s1.ts")) == .folder(.derived))
        let within = try Self.linker(from: "https://a.example/v2/index.m3u8")
        #expect(try within.link(to: Self.reference("https://a.example/v2/s1.ts")) == .folder(.named))
        #expect(try within.link(to: Self.reference("https://a.example/films/s1.ts")) == .inScope)
        let upgraded = try Self.linker("http://nas/x.m3u8", from: "https://nas/x.m3u8", principal: Self.someone)
        #expect(
            try upgraded.link(to: Self.reference("https://nas/s1.ts")) == .folder(.named),
            "credentials for http are not for https")
        #expect(try upgraded.link(to: Self.reference("https://nas:444/s1.ts")) == .folder(.derived))
        let clear = try Self.linker("http://nas/x.m3u8", from: "http://nas:443/x.m3u8")
        #expect(try clear.link(to: Self.reference("http://nas:443/s1.ts")) == .folder(.derived), "port 443 is no TLS")
    }

    @Test(
        "A link within the manifest's folder is relative, unless that would mean something else",
        arguments: [
            ("https://a.example/films/one/s1.ts", "s1.ts"), ("https://a.example/films/one/a/s1.ts?t=1", "a/s1.ts?t=1"),
            ("https://a.example/films/one/a//s1.ts", "a//s1.ts"), ("https://a.example/films/one/a/b:c.ts", "a/b:c.ts"),
            ("https://a.example/films/one/b:c.ts", nil), ("https://a.example/films/one//s1.ts", nil),
            ("https://a.example/films/one/", nil), ("https://a.example/films/one/?t=1", nil),
            ("https://a.example/films/s1.ts", nil), ("https://a.example/films/onex/s1.ts", nil),
        ] as [(String, String?)])
    func relative(url: String, text: String?) throws {
        #expect(try Self.linker().relative(to: MediaURL(url)) == text)
    }
}
