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
        let origin = try ScriptedOrigin(ScriptedResource(length: 500_000))
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            #expect(try await service.ask("GET", url, ["Range": "bytes=100000-199999"])?.body.count == 100_000)
            // Durable bytes are opened from the vault, not taken from the running transfer.
            try await service.waitUntilHeld(100_000, of: url)
            #expect(try await service.ask("GET", url, ["Range": "bytes=50000-249999"])?.body.count == 200_000)
            let document = try await explanation(service, url)
            let answers = document.answers.filter { $0.bytes > 1 }
            #expect(answers.count == 2 && answers.map(\.bytes) == [200_000, 100_000])
            #expect(answers.last?.runs == [.init(first: 100_000, end: 200_000, source: .origin)])
            let runs = try #require(answers.first?.runs)
            #expect(runs.map(\.source) == [.origin, .vault, .origin])
            #expect(runs.first?.first == 50_000 && runs.last?.end == 250_000)
            #expect(runs[1].first == 100_000 && runs[1].end == 200_000)
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
            try await service.vault.remove(MediaReference(url))
            await #expect(throws: VaultError.self) { try await explanation(service, url) }
        }
    }
}
