import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Invalid capabilities and tokens", .timeLimit(.minutes(5)))
struct CapabilityTests {
    private let title = ScriptedResource(length: 1000)

    @Test("A capability that is truncated, extended, misplaced or expired opens nothing, and is not logged")
    func capability() async throws {
        let origin = try ScriptedOrigin(title)
        let url = origin.url("/a/film.mp4")
        let recorder = LogRecorder()
        let secrets = try await RunningService.run(over: try await TestVault(), logger: recorder.logger) { service in
            let good = service.target(url)
            let parts = good.split(separator: "/", maxSplits: 2).map(String.init)
            let (capability, rest) = (parts[1], parts[2])
            let client = try service.client()
            for wrong in [
                "", ".", "...", String(capability.dropLast()), String(capability.prefix(12)), capability + "A",
                capability + "=", " " + capability, capability + "%00", "%2e" + capability,
                capability.replacing(".n.", with: ".d."), capability.replacing(".n.", with: ".N."),
                capability.replacing("4000000000", with: "4000000001"),
                capability.replacing("4000000000", with: "-1"),
                capability.replacing("4000000000", with: "99999999999999999999"),
                String(repeating: "A", count: 4096),
            ] {
                let target = "/media/\(wrong.replacing(" ", with: "%20"))/\(rest)"
                let answer = try #require(await client.ask("GET", target, host: service.host))
                #expect(answer.head.status == 404, "\(wrong.prefix(60))")
            }
            for target in [
                "/media/\(rest)?\(capability)", "/media/\(rest)?token=\(capability)x", "/\(capability)/\(rest)",
                "/media?\(capability)/\(rest)", "/media/\(capability)", "/media/\(capability)/",
            ] {
                let answer = try #require(await client.ask("GET", target, host: service.host))
                #expect(answer.head.status == 404, "\(target.prefix(60))")
            }
            for (name, value) in [("Authorization", "Bearer \(capability)"), ("Cookie", "t=\(capability)")] {
                let answer = try #require(
                    await client.ask("GET", "/media/\(rest)", host: service.host, fields: [name: value]))
                #expect(answer.head.status == 404)
            }
            return [capability, String(capability.suffix(22)), "film.mp4"]
        }
        #expect(origin.exchanges.isEmpty)
        #expect(!recorder.lines.isEmpty)
        #expect(recorder.lines.allSatisfy { line in secrets.allSatisfy { !line.text.contains($0) } })
    }

    @Test("A token is accepted only in its field, and only whole")
    func token() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let token = service.token
            let client = try service.client()
            for target in ["/api/v1/status?token=\(token)", "/api/v1/status/\(token)", "/\(token)/api/v1/status"] {
                let status = await client.ask("GET", target, host: service.host)?.head.status
                #expect(status == (target.hasPrefix("/api/v1/status?") ? 401 : 404))
            }
            for value in [
                String(token.dropLast()), token + "=", token + ", x", "\(token) \(token)", String(token.reversed()), "",
            ] {
                let answer = await client.ask(
                    "GET", "/api/v1/status", host: service.host, fields: ["Authorization": "Bearer \(value)"])
                #expect(answer?.head.status == 401)
            }
            let cookie = await client.ask(
                "GET", "/api/v1/status", host: service.host, fields: ["Cookie": "token=\(token)"])
            #expect(cookie?.head.status == 401)
        }
    }

    @Test(
        "Host names that resemble the service's are refused, and none is looked up",
        arguments: [
            "127.0.0.1.evil.test", "evil.test", "localhost.evil.test", "[::1%25lo]", "127.0.0.1@evil.test", "0.0.0.0",
            "127.1", "0x7f.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "LOCALHOST.", "*",
        ])
    func hosts(name: String) async throws {
        let origin = try ScriptedOrigin(title)
        let url = origin.url("/a/film.mp4")
        try await RunningService.run(over: try await TestVault()) { service in
            let answer = try #require(
                await service.client().ask("GET", service.target(url), host: "\(name):\(service.port)"))
            #expect(answer.head.status == 421)
        }
        #expect(origin.exchanges.isEmpty)
    }
}
