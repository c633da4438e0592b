import MediaVault
import OriginTestSupport
import Testing

@Suite("Playback addresses")
struct TokenTests {
    private let now: Int64 = 1_800_000_000

    private func issuer() async throws -> TokenIssuer {
        let fixture = try await VaultFixture(ScriptedResource(length: 0))
        return try await TokenIssuer.open(keyring: fixture.place.keyring, unlock: fixture.unlock)
    }

    @Test(
        "An address for players decodes to the original URL, byte for byte (L2, L22)",
        arguments: [
            "http://a.example/film.mp4", "https://a.example:8443/a//b%2Fc/;d/film.mp4?token=x%20y&z=[1]",
            "https://a.example/@user/x@1.0.mp4", "http://[::1]:8080/", "http://a.example/?q", "http://a.example/a/",
        ])
    func roundTrip(text: String) async throws {
        let issuer = try await issuer()
        let url = try MediaURL(text)
        let path = issuer.playbackPath(for: url, expires: now + 1)
        #expect(issuer.url(ofTarget: path, now: now) == url)
        #expect(issuer.url(ofTarget: path, now: now + 1) == nil, "it has expired")
    }

    @Test("An address opens the folder of its URL and what lies below, and nothing else")
    func scope() async throws {
        let issuer = try await issuer()
        let capability = issuer.capability(
            for: try MediaURL("https://a.example/films/one/index.m3u8"), expires: now + 9)
        let inside = ["films/one/seg1.ts", "films/one/sub/x", "films/one/", "films/one/index.m3u8?t=1", "films/one//x"]
        for path in inside {
            #expect(issuer.url(ofTarget: "/media/\(capability)/https/a.example/\(path)", now: now) != nil, "\(path)")
        }
        let outside = [
            "https/a.example/films/two/x", "https/a.example/films/one", "http/a.example/films/one/x",
            "https/b.example/films/one/x", "https/a.example:8443/films/one/x", "https/a.example/films/one/../two/x",
            "https/a.example/films/one/%2e%2e/two/x", "https/u@a.example/films/one/x", "https/A.example/films/one/x",
            "https/a.example/films/one/x#f", "ftp/a.example/films/one/x", "https/a.example",
        ]
        for path in outside {
            #expect(issuer.url(ofTarget: "/media/\(capability)/\(path)", now: now) == nil, "\(path)")
        }
    }

    @Test("Every change of a capability makes it worthless")
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
            #expect(issuer.url(ofTarget: target, now: now) == nil, "\(change)")
        }
    }

    @Test("Only the whole admin token is one")
    func adminToken() async throws {
        let issuer = try await issuer()
        let token = issuer.adminToken
        #expect(token.count == 43 && issuer.isAdminToken(token))
        for wrong in ["", String(token.dropLast()), token + "A", token.lowercased() + " ", String(token.reversed())] {
            #expect(!issuer.isAdminToken(wrong))
        }
        #expect(try await !self.issuer().isAdminToken(token), "another vault's is another")
    }

    @Test(
        "What is not http or https is not taken over (L1, L3)",
        arguments: ["file:///a", "ftp://a/b", "a.mp4", "data:,x"])
    func otherSchemes(text: String) {
        let error = #expect(throws: VaultError.self) { try MediaURL(text) }
        #expect(error?.code == .invalidURL)
    }
}
