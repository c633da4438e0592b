import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Addresses that the service may request", .timeLimit(.minutes(5)))
struct AddressTests {
    @Test("A URL from a manifest reaches no private address, unless the setting allow-host names it")
    func derived() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        var reference = MediaReference(origin.url("/a/film.mp4"))
        reference.isDerived = true
        let derived = reference
        try await RunningService.run(over: try await TestVault()) { service in
            let target = try service.vault.tokens.playbackPath(for: derived, expires: 4_000_000_000)
            #expect(target.contains(".d."))
            let refused = try #require(await service.client().ask("GET", target, host: service.host))
            #expect(refused.head.status == 502)
            #expect(origin.exchanges.isEmpty)
            var policy = try await service.vault.settings.keyPolicy()
            try policy.allow("127.0.0.1")
            try await service.vault.settings.setKeyPolicy(policy)
            let answer = try #require(await service.client().ask("GET", target, host: service.host))
            #expect(answer.head.status == 200 && answer.body.count == 1000)
        }
    }

    @Test("The service never requests itself: not by name, not in another notation, not after a redirect")
    func itself() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let port = service.port
            let origin = try ScriptedOrigin { _ in .redirect(to: "http://127.0.0.1:\(port)/healthz") }
            var policy = try await service.vault.settings.keyPolicy()
            try policy.allow("127.0.0.1")
            try await service.vault.settings.setKeyPolicy(policy)
            for url in [
                try MediaURL("http://127.0.0.1:\(port)/healthz"), try MediaURL("http://localhost:\(port)/healthz"),
                try MediaURL("http://2130706433:\(port)/healthz"), origin.url("/a"),
            ] {
                let answer = try #require(try await service.ask("GET", url))
                #expect(answer.head.status == 502, "\(url)")
                #expect(String(decoding: answer.body, as: UTF8.self).contains("this service"))
            }
        }
    }

    @Test("Links revoked by the API stop working at once; new ones work, and tokens end, too")
    func revoked() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        let url = origin.url("/a/film.mp4")
        let test = try await TestVault()
        let old = try await RunningService.run(over: test, hasControl: true) { service in
            let (target, token) = (service.target(url), service.token)
            let client = try service.client()
            #expect(await client.ask("GET", target, host: service.host)?.head.status == 200)
            let answer = try await service.control("POST", "/api/v1/revocations")
            #expect(answer.head.status == 200)
            #expect(await client.ask("GET", target, host: service.host)?.head.status == 404)
            #expect(await client.ask("GET", service.target(url), host: service.host)?.head.status == 200)
            #expect(try await service.authorized("GET", "/metrics").head.status == 401)
            #expect(service.vault.tokens.scope(ofToken: token, now: 0) == nil)
            return target
        }
        try await RunningService.run(over: test) { service in
            let refused = try await service.client().ask("GET", old, host: service.host)
            #expect(refused?.head.status == 404)
            let answer = try await service.ask("GET", url)
            #expect(answer?.head.status == 200)
        }
    }
}
