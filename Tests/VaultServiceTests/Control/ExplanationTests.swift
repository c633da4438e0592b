import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Explanations over the API", .timeLimit(.minutes(5)))
struct ExplanationTests {
    private func explanation(_ service: RunningService, _ url: MediaURL) async throws -> ExplanationDocument {
        try await RemoteVault(ControlClient(folder: service.folder)).explanation(MediaReference(url))
    }

    @Test("The last answers are listed newest first, with the bytes from the vault and from the origin")
    func sources() async throws {
        // Fetched bytes are passed on from the transfer until they are durable, and are then read from the vault.
        let gate = Gate()
        let origin = try ScriptedOrigin(ScriptedResource(length: 500_000), holdingAt: 100_000, gate)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let client = try service.client()
            await client.send(
                "GET \(service.target(url)) HTTP/1.1\r\nHost: \(service.host)\r\nRange: bytes=100000-299999\r\n\r\n")
            #expect(await client.readHead()?.status == 206)
            #expect(await client.read(100_000).count == 100_000)
            await client.close()
            await origin.wait { $0.last?.phase == .abandoned }
            try await service.waitUntilHeld(100_000, of: url)
            gate.open()
            #expect(try await service.ask("GET", url, ["Range": "bytes=50000-249999"])?.body.count == 200_000)
            let document = try await explanation(service, url)
            let answers = document.answers.filter { $0.bytes > 1 }
            #expect(answers.count == 2 && answers.map(\.bytes) == [200_000, 100_000])
            #expect(answers.last?.runs == [.init(first: 100_000, end: 200_000, source: .origin)])
            let runs = try #require(answers.first?.runs)
            #expect(runs.first?.first == 50_000 && runs.last?.end == 250_000)
            #expect(zip(runs, runs.dropFirst()).allSatisfy { $0.end == $1.first })
            let held = runs.filter { $0.first < 200_000 && $0.end > 100_000 }
            #expect(held.count == 1 && held[0].source == .vault)
        }
    }

    @Test("Bytes that exceed the quota are reported as not stored")
    func unstored() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 900_000))
        defer { origin.stop() }
        let url = origin.url()
        let limits = StorageLimits(maxSize: 100_000)
        try await RunningService.run(over: try await TestVault(), hasControl: true, limits: limits) { service in
            #expect(try await service.ask("GET", url)?.body.count == 900_000)
            let answer = try #require(try await explanation(service, url).answers.first)
            #expect(
                answer.bytes == 900_000 && answer.runs.last?.source == .unstored && answer.runs.last?.end == 900_000)
        }
    }

    @Test("Downloads are not listed as answers; a removed or unknown resource is not found")
    func silence() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 100_000))
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            await #expect(throws: VaultError.self) { try await explanation(service, url) }
            for try await _ in service.vault.download(url) {}
            #expect(try await explanation(service, url).answers.isEmpty)
            #expect(try await service.ask("GET", url)?.body.count == 100_000)
            #expect(try await explanation(service, url).answers.map(\.bytes) == [100_000])
            try await service.vault.titles.remove(MediaReference(url))
            await #expect(throws: VaultError.self) { try await explanation(service, url) }
        }
    }
}
