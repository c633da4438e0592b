import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Metrics of a service", .timeLimit(.minutes(5)))
struct MetricsTests {
    /// Returns the metrics by their names and labels.
    private func scrape(_ service: RunningService) async throws -> [String: Double] {
        let answer = try await service.control("GET", "/metrics")
        #expect(answer.head.status == 200)
        #expect(answer.head.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        return Dictionary(
            uniqueKeysWithValues: lines.compactMap { line in
                line.lastIndex(of: " ").map { (String(line[..<$0]), Double(line[$0...].dropFirst()) ?? .nan) }
            })
    }

    @Test("Bytes fetched, held, served, opened and sealed, hits and fills, errors and open requests are counted")
    func counts() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 300_000))
        defer { origin.stop() }
        let url = origin.url("/film?token=hunter2")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let before = try await scrape(service)
            #expect(before["mediavault_bytes_served_total"] == 0 && before["mediavault_bytes_held"] == 0)
            for _ in 0..<2 {
                // Waits until the bytes are durable, so that the second answer is a hit.
                #expect(try await service.ask("GET", url)?.body.count == 300_000)
                for try await _ in service.vault.download(url) {}
            }
            #expect(try await service.ask("GET", url, ["Range": "bytes=300000-"])?.head.status == 416)
            _ = try await service.client().ask("GET", "/x", host: service.host)
            var figures = try await scrape(service)
            // An answer is counted after its last byte, so the client may see the bytes first.
            while figures[#"mediavault_answers_total{route="media",status="200"}"#] != 2 {
                figures = try await scrape(service)
            }
            for (name, value) in [
                ("bytes_fetched_total", 300_000), ("bytes_held", 300_000), ("bytes_sealed_total", 300_000),
                ("hits_total", 1), (#"fills_total{kind="miss"}"#, 1), (#"fills_total{kind="partial"}"#, 0),
                ("damage_total", 0), (#"errors_total{class="unsatisfiableRange"}"#, 1), ("resources", 1),
                (#"answers_total{route="media",status="416"}"#, 1), (#"answers_total{route="none",status="404"}"#, 1),
            ] { #expect(figures["mediavault_\(name)"] == Double(value), "\(name)") }
            #expect(figures["mediavault_bytes_served_total"] ?? 0 >= 600_000)
            #expect(figures["mediavault_bytes_opened_total"] ?? 0 >= 300_000)
            #expect(figures["mediavault_open_requests"] ?? 0 >= 1)
            #expect(figures.keys.allSatisfy { !$0.contains("hunter2") && !$0.contains("film") })
        }
    }

    @Test("Over the network the metrics require the admin token, and are 404 without it")
    func token() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let refused = try #require(await service.client().ask("GET", "/metrics", host: service.host))
            #expect(refused.head.status == 404)
            let answer = try await service.authorized("GET", "/metrics")
            #expect(answer.head.status == 200)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(text.contains("# TYPE mediavault_open_requests gauge\nmediavault_open_requests "))
        }
    }
}
