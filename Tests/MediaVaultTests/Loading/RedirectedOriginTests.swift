import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@Suite("Redirects, and which fields each origin receives", .timeLimit(.minutes(5)))
struct RedirectedOriginTests {
    private let length: Int64 = 200_000
    private static let secrets: HeaderFields = [
        "Authorization": "Bearer secret", "Cookie": "c=secret", "X-Token": "secret",
    ]

    private func received(_ origin: ScriptedOrigin) -> [HeaderFields] { origin.exchanges.map(\.request.fields) }

    private func carriesSecret(_ fields: HeaderFields) -> Bool {
        fields.fields.contains { $0.value.contains("secret") || $0.name == "Referer" }
    }

    @Test(
        "Redirect targets are not remembered: each fetch starts at the given URL",
        arguments: [301, 302, 303, 307, 308])
    func notRemembered(status: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            request.target == "/film.mp4"
                ? .redirect(status, to: "/signed.mp4?number=\(request.number)#t=10") : resource.answer(to: request)
        }
        let vault = try await fixture.openHasty()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 9)) == 0..<10)
        #expect(try await fixture.read(vault, .closed(first: 100_000, last: 100_009)) == 100_000..<100_010)
        let targets = fixture.origin.exchanges.filter { $0.request.method == "GET" }.map(\.request.target)
        #expect(targets.count == 4 && targets[0] == "/film.mp4" && targets[2] == "/film.mp4")
        #expect(targets[1] != targets[3] && !targets[1].contains("#"))
        #expect(try await vault.titles.summary(of: fixture.url)?.url == fixture.url.absoluteString)
        #expect(try await vault.status().resources == 1)
        await vault.close()
    }

    @Test("Another port receives none of the caller's fields, on the first fetch or on later ones")
    func anotherPort() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let away = try ScriptedOrigin(fixture.resource)
        let target = away.url("/cdn.mp4").absoluteString
        fixture.origin.answer { [resource = fixture.resource] request in
            request.fields["Authorization"] == "Bearer secret" ? .redirect(to: target) : resource.answer(to: request)
        }
        let vault = try await fixture.openHasty(allowing: ["127.0.0.1"])
        for try await _ in try await vault.read(
            MediaReference(fixture.url, fields: Self.secrets), range: .closed(first: 0, last: 99))
        {}
        await vault.close()
        // After a restart the plain URL plays the title, with the sealed fields.
        let again = try await fixture.openHasty(allowing: ["127.0.0.1"])
        #expect(try await fixture.read(again) == 0..<length)
        #expect(away.exchanges.count >= 2 && !received(away).contains(where: carriesSecret))
        #expect(received(fixture.origin).allSatisfy { $0["X-Token"] == "secret" && $0["Cookie"] == "c=secret" })
        await again.close()
    }

    @Test(
        "Another host on the same port receives no field of the caller's, nor does the first host after a redirect back"
    )
    func anotherHost() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let port = fixture.origin.port
        fixture.origin.answer { [resource = fixture.resource] request in
            switch request.target {
            case "/film.mp4": .redirect(to: "http://localhost:\(port)/there")
            case "/there": .redirect(to: "http://127.0.0.1:\(port)/back")
            default: resource.answer(to: request)
            }
        }
        let vault = try await fixture.openHasty(allowing: ["127.0.0.1", "localhost"])
        #expect(try await fixture.bytes(vault, MediaReference(fixture.url, fields: Self.secrets)) == length)
        for exchange in fixture.origin.exchanges {
            #expect(carriesSecret(exchange.request.fields) == (exchange.request.target == "/film.mp4"))
        }
        await vault.close()
    }

    @Test("Another scheme is another origin, and a plain-text listener there receives no field")
    func anotherScheme() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        // The port is the same, and the listener receives the start of a TLS handshake.
        let port = fixture.origin.port
        fixture.origin.answer { _ in .redirect(to: "https://127.0.0.1:\(port)/film.mp4") }
        let vault = try await fixture.openHasty()
        let error = await #expect(throws: VaultError.self) {
            try await vault.read(MediaReference(fixture.url, fields: Self.secrets))
        }
        #expect(error?.code == .unreachable && fixture.origin.exchanges.count == 1)
        let fields = try #require(OriginFields(Self.secrets, for: fixture.url))
        #expect(fields.sent(to: try MediaURL("https://127.0.0.1:\(port)/film.mp4")).fields.isEmpty)
        await vault.close()
    }

    @Test("A user name and password in Location are dropped")
    func userInfoInLocation() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let away = try ScriptedOrigin(fixture.resource)
        let port = away.port
        fixture.origin.answer { [resource = fixture.resource] request in
            request.target == "/film.mp4"
                ? .redirect(to: "http://user:pass@127.0.0.1:\(port)/x") : resource.answer(to: request)
        }
        let vault = try await fixture.openHasty(allowing: ["127.0.0.1"])
        #expect(try await fixture.read(vault) == 0..<length)
        #expect(received(away).allSatisfy { $0["Authorization"] == nil })
        await vault.close()
    }

    @Test("Ten redirects are followed, relative or absolute, and one more is an invalid response", arguments: [10, 11])
    func chain(hops: Int) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let root = fixture.origin.url("/").absoluteString
        fixture.origin.answer { [resource = fixture.resource] request in
            let hop = Int(request.target.dropFirst(5)) ?? 0
            guard hop < hops else { return resource.answer(to: request) }
            return .redirect(
                307, to: ["hop/\(hop + 1)", "/hop/\(hop + 1)", root + "hop/\(hop + 1)"][hop == 0 ? 1 : 1 + hop % 2])
        }
        let vault = try await fixture.openHasty()
        let reception = await fixture.receive(vault)
        #expect(reception.error?.code == (hops > 10 ? .invalidResponse : nil))
        #expect(reception.bytes == (hops > 10 ? 0..<0 : 0..<length))
        #expect(fixture.origin.exchanges.count == 11)
        await vault.close()
    }
}
