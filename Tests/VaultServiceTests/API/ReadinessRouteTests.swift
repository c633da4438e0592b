import Foundation
import MediaVault
import OriginTestSupport
import Testing

@testable import VaultService

@Suite("Readiness through the service", .timeLimit(.minutes(5)))
struct ReadinessRouteTests {
    @Test("The service says over either connection what the library says, and refuses what it does not understand")
    func answers() async throws {
        let title = ScriptedResource(seed: 9, length: 500_000)
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let (url, test) = (origin.url("/film"), try await TestVault())
        try await RunningService.run(over: test, hasControl: true) { service in
            let client = RemoteVault(ControlClient(folder: service.folder))
            #expect(
                try await client.call(Operations.Upkeep.readiness, ReadinessSelection(ReadinessOptions())).findings
                    .first?.cause == .nothingChecked)
            try await client.download(MediaReference(url), DownloadOptions()) { _ in }
            try await client.call(Operations.Titles.pin, TitleDocument(client.id(of: MediaReference(url))))
            _ = try await client.follow(Operations.Upkeep.verify, VerificationRequest(VerifyOptions(), of: [])) { _ in }
            let options = ReadinessOptions(until: Timestamp(seconds: 4_000_000_000), hasDownloads: true)
            let report = try await client.call(Operations.Upkeep.readiness, ReadinessSelection(options))
            #expect(report.isReady && report.titles == 1 && report.bytes == 500_000 && report.until == options.until)
            _ = try await client.call(Operations.Grants.createToken, TokenOrder(.play, name: "tv", .after(60)))
            #expect(
                try await client.call(Operations.Upkeep.readiness, ReadinessSelection(options)).findings.map(\.cause)
                    == [.accessEnds])
            let answer = try await service.authorized("GET", "/api/v1/readiness?verifiedWithin=60&titles=pinned")
            #expect(answer.head.status == 200)
            #expect(try SchemaCheck.faults(of: answer.body, "Readiness") == [])
            for query in ["until=tomorrow", "verifiedWithin=0", "verifiedWithin=x", "titles=all"] {
                #expect(try await service.authorized("GET", "/api/v1/readiness?\(query)").head.status == 400)
            }
        }
    }
}
