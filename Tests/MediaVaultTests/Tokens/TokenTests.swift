import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Playback links")
struct TokenTests {
    private let now: Int64 = 1_800_000_000

    private func issuer() async throws -> TokenIssuer {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        return try await TokenIssuer.open(keyring: fixture.place.keyring, unlock: fixture.unlock)
    }

    @Test(
        "A playback link decodes to the original URL, byte for byte",
        arguments: [
            "http://a.example/film.mp4", "https://a.example:8443/a//b%2Fc/;d/film.mp4?token=x%20y&z=[1]",
            "https://a.example/@user/x@1.0.mp4", "http://[::1]:8080/", "http://a.example/?q", "http://a.example/a/",
        ])
    func roundTrip(text: String) async throws {
        let issuer = try await issuer()
        let url = try MediaURL(text)
        let path = issuer.playbackPath(for: url, expires: now + 1)
        #expect(issuer.reference(ofTarget: path, now: now) == MediaReference(url))
        #expect(issuer.reference(ofTarget: path, now: now + 1) == nil, "the link has expired")
    }

    @Test("An admitted link stays valid until it expires")
    func kept() async throws {
        let issuer = try await issuer()
        let path = issuer.playbackPath(for: try MediaURL("http://a.example/film.mp4"), expires: now + 5)
        let found = try #require(issuer.admission(ofTarget: path, now: now))
        #expect(issuer.isValid(found, now: now + 4) && !issuer.isValid(found, now: now + 5))
    }

    @Test("A link within a link expires with the earlier of the two")
    func nested() async throws {
        let issuer = try await issuer()
        let url = try MediaURL("http://a.example/film.mp4")
        for (inner, outer) in [(now + 5, now + 100), (now + 100, now + 5)] {
            let within = try MediaURL("http://127.0.0.1:8300\(issuer.playbackPath(for: url, expires: inner))")
            let path = issuer.playbackPath(for: within, expires: outer)
            let found = try #require(issuer.admission(ofTarget: path, now: now))
            #expect(found.reference == MediaReference(url))
            #expect(issuer.isValid(found, now: now + 4) && !issuer.isValid(found, now: now + 5))
            #expect(issuer.admission(ofTarget: path, now: now + 5) == nil)
        }
    }

    @Test("A link opens a URL with thousands of folders")
    func deep() async throws {
        let issuer = try await issuer()
        for folders in [1024, 1025, 4000] {
            let url = try MediaURL("http://a.example/" + String(repeating: "a/", count: folders) + "film.mp4")
            let path = issuer.playbackPath(for: url, expires: now + 1)
            #expect(issuer.reference(ofTarget: path, now: now) == MediaReference(url), "\(folders)")
            #expect(issuer.reference(ofTarget: path.replacing("film.mp4", with: "x"), now: now) != nil)
        }
    }

    @Test("A link records which resource of its folder it is for, and a changed link opens nothing")
    func madeFor() async throws {
        let issuer = try await issuer()
        let path = issuer.playbackPath(for: try MediaURL("https://a.example/films/one.mp4?t=1"), expires: now + 9)
        for (target, excludesPrincipals) in [
            ("one.mp4?t=1", false), ("one.mp4", true), ("one.mp4?t=2", true), ("two.mp4?t=1", true),
            ("a/one.mp4?t=1", true),
        ] {
            let other = path.replacing("one.mp4?t=1", with: target)
            #expect(issuer.reference(ofTarget: other, now: now)?.excludesPrincipals == excludesPrincipals, "\(target)")
        }
        let fields = try #require(path.split(separator: "/").dropFirst().first).split(separator: ".").map(String.init)
        try #require(fields.count == 5)
        for change in [
            [0, 1, 2, 4], [0, 1, 2, 3, 3, 4], [0, 1, 2, 3],
        ] {
            let changed = path.replacing(
                fields.joined(separator: "."), with: change.map { fields[$0] }.joined(separator: "."))
            #expect(issuer.reference(ofTarget: changed, now: now) == nil, "\(change)")
        }
        let other = issuer.playbackPath(for: try MediaURL("https://a.example/films/two.mp4"), expires: now + 9)
        let mark = try #require(other.split(separator: "/").dropFirst().first).split(separator: ".").map(String.init)[3]
        #expect(mark != fields[3])
        #expect(issuer.reference(ofTarget: path.replacing(fields[3], with: mark), now: now) == nil)
        // A link for a folder alone opens public titles only.
        let folder = issuer.capability(for: try MediaURL("https://a.example/films/one.mp4"), expires: now + 9)
        #expect(
            issuer.reference(ofTarget: "/media/\(folder)/https/a.example/films/one.mp4", now: now)?.excludesPrincipals
                == true)
    }

    @Test("A link opens the folder of its URL and everything below it, and nothing else")
    func scope() async throws {
        let issuer = try await issuer()
        let capability = issuer.capability(
            for: try MediaURL("https://a.example/films/one/index.m3u8"), expires: now + 9)
        let inside = ["films/one/seg1.ts", "films/one/sub/x", "films/one/", "films/one/index.m3u8?t=1", "films/one//x"]
        for path in inside {
            #expect(
                issuer.reference(ofTarget: "/media/\(capability)/https/a.example/\(path)", now: now) != nil, "\(path)")
        }
        let outside = [
            "https/a.example/films/two/x", "https/a.example/films/one", "http/a.example/films/one/x",
            "https/b.example/films/one/x", "https/a.example:8443/films/one/x", "https/a.example/films/one/../two/x",
            "https/a.example/films/one/%2e%2e/two/x", "https/u@a.example/films/one/x", "https/A.example/films/one/x",
            "https/a.example/films/one/x#f", "ftp/a.example/films/one/x", "https/a.example",
        ]
        for path in outside {
            #expect(issuer.reference(ofTarget: "/media/\(capability)/\(path)", now: now) == nil, "\(path)")
        }
    }

    @Test("Any change to a capability invalidates it")
    func changed() async throws {
        let issuer = try await issuer()
        let url = try MediaURL("https://a.example/films/one.mp4")
        let fields = issuer.capability(for: url, expires: now + 9).split(separator: ".").map(String.init)
        #expect(fields.count == 4)
        let changes = [
            [String(now + 99), fields[1], fields[2], fields[3]], [fields[0], "0", fields[2], fields[3]],
            [fields[0], fields[1], "d", fields[3]], [fields[0], fields[1], fields[2], String(fields[3].reversed())],
            [fields[0], fields[1], fields[2], String(fields[3].dropLast())],
            ["0" + fields[0], fields[1], fields[2], fields[3]],
            [fields[0], fields[1], fields[2], fields[3], ""],
        ]
        for change in changes {
            let target = "/media/\(change.joined(separator: "."))/https/a.example/films/one.mp4"
            #expect(issuer.reference(ofTarget: target, now: now) == nil, "\(change)")
        }
    }

    @Test(
        "A link for a content id opens only that target and returns the id, whatever the id contains",
        arguments: ["film", "é/.?#%", String(repeating: "x", count: 512)])
    func contentID(id: String) async throws {
        let issuer = try await issuer()
        let reference = MediaReference(try MediaURL("https://a.example/films/one.mp4?token=1"), contentID: id)
        let path = try issuer.playbackPath(for: reference, expires: now + 9)
        #expect(issuer.reference(ofTarget: path, now: now) == reference)
        #expect(issuer.reference(ofTarget: path, now: now + 9) == nil, "the link has expired")
        let capability = try #require(path.split(separator: "/").dropFirst().first)
        for other in ["one.mp4?token=2", "one.mp4", "two.mp4?token=1", "one.mp4/x?token=1", "one.mp4?token=1&"] {
            #expect(
                issuer.reference(ofTarget: "/media/\(capability)/https/a.example/films/\(other)", now: now) == nil,
                "\(other)")
        }
        var fields = capability.split(separator: ".").map(String.init)
        #expect(fields.count == 5)
        for field in ["", "AA", "Zm9v", fields[4]] {
            fields[3] = field
            let target = path.replacing(capability, with: fields.joined(separator: "."))
            #expect(issuer.reference(ofTarget: target, now: now) == nil, "\(field)")
        }
        fields.remove(at: 3)
        #expect(
            issuer.reference(ofTarget: path.replacing(capability, with: fields.joined(separator: ".")), now: now) == nil
        )
    }

    @Test("A link for a user's copy names it, and contains none of the user's fields", arguments: [nil, "film"])
    func principal(id: String?) async throws {
        let issuer = try await issuer()
        let url = try MediaURL("https://a.example/films/one.mp4")
        func path(_ secret: String) throws -> String {
            try issuer.playbackPath(
                for: MediaReference(url, contentID: id, fields: HeaderFields(["Authorization": secret, "X-A": "b"])),
                expires: now + 9)
        }
        let one = try #require(issuer.reference(ofTarget: try path("Bearer one"), now: now))
        let two = try #require(issuer.reference(ofTarget: try path("Bearer two"), now: now))
        #expect(one.fields.fields.isEmpty && one.contentID == id && one.url == url)
        #expect(one.principal?.count == 32 && one.principal != two.principal)
        #expect(
            try issuer.playbackPath(for: MediaReference(url), expires: now)
                == issuer.playbackPath(for: url, expires: now))
    }

    @Test(
        "An unusable content id or field is refused",
        arguments: [
            MediaReference(anyURL, contentID: ""), MediaReference(anyURL, contentID: "a\nb"),
            MediaReference(anyURL, contentID: "\u{85}"), MediaReference(anyURL, contentID: "a\u{0}"),
            MediaReference(anyURL, contentID: String(repeating: "é", count: 257)),
            MediaReference(anyURL, fields: HeaderFields(["Range": "bytes=0-1"])),
            MediaReference(anyURL, fields: HeaderFields(["X A": "b"])),
            MediaReference(anyURL, fields: HeaderFields(["X-A": "b\r\nX-B: c"])),
        ])
    func unusable(reference: MediaReference) async throws {
        let issuer = try await issuer()
        let error = #expect(throws: VaultError.self) { try issuer.playbackPath(for: reference, expires: now) }
        #expect(error?.code == .invalidArgument)
    }

    private static let anyURL = MediaURL(scheme: "http", host: "a.example", port: nil, path: "/", query: nil)

    @Test("Revoked links open nothing, also after a restart; new links work, and an older keyring is refused")
    func revoked() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        let url = try MediaURL("https://a.example/films/one.mp4")
        let older = try Data(contentsOf: URL(filePath: fixture.place.keyring))
        let vault = try await fixture.open()
        let old = vault.tokens.playbackPath(for: url, expires: now + 9)
        let token = try await vault.access.createToken(.read).text
        #expect(vault.tokens.reference(ofTarget: old, now: now) != nil)
        #expect(vault.tokens.scope(ofToken: token, now: now) == .read)
        try await vault.keys.revokeLinks()
        try await vault.keys.revokeLinks()
        #expect(vault.tokens.reference(ofTarget: old, now: now) == nil)
        #expect(vault.tokens.scope(ofToken: token, now: now) == nil && vault.access.issuedTokens.isEmpty)
        let new = vault.tokens.playbackPath(for: url, expires: now + 9)
        #expect(vault.tokens.reference(ofTarget: new, now: now)?.url == url)
        await vault.close()
        let issuer = try await TokenIssuer.open(keyring: fixture.place.keyring, unlock: fixture.unlock)
        #expect(issuer.reference(ofTarget: old, now: now) == nil && issuer.reference(ofTarget: new, now: now) != nil)
        try older.write(to: URL(filePath: fixture.place.keyring))
        let error = await #expect(throws: VaultError.self) { try await fixture.open() }
        #expect(error?.code == .olderKeyring)
    }

    @Test("Only the owner can revoke links")
    func revokedByReader() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        let vault = try await fixture.open(.reader)
        let error = await #expect(throws: VaultError.self) { try await vault.keys.revokeLinks() }
        #expect(error?.code == .owned)
        await vault.close()
    }

    @Test("A link records whether its URL was derived, and a changed link opens nothing")
    func kind() async throws {
        let issuer = try await issuer()
        var reference = MediaReference(try MediaURL("https://a.example/films/one.mp4"))
        reference.isDerived = true
        let path = try issuer.playbackPath(for: reference, expires: now + 9)
        #expect(issuer.reference(ofTarget: path, now: now) == reference)
        #expect(issuer.reference(ofTarget: path.replacing(".d.", with: ".n."), now: now) == nil)
    }

    @Test(
        "A URL that is not http or https is refused",
        arguments: ["file:///a", "ftp://a/b", "a.mp4", "data:,x"])
    func otherSchemes(text: String) {
        let error = #expect(throws: VaultError.self) { try MediaURL(text) }
        #expect(error?.code == .invalidURL)
    }
}
