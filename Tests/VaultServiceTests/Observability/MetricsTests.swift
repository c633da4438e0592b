import Foundation
import Logging
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
            #expect(before["mediavault_served_bytes_total"] == 0 && before["mediavault_held_bytes"] == 0)
            for _ in 0..<2 {
                // Waits until the bytes are durable, so that the second answer is a hit.
                #expect(try await service.ask("GET", url)?.body.count == 300_000)
                for try await _ in service.vault.download(url) {}
            }
            #expect(try await service.ask("GET", url, ["Range": "bytes=300000-"])?.head.status == 416)
            _ = try await service.client().ask("GET", "/x", host: service.host)
            _ = try await service.client().ask("PROPFIND", "/x", host: service.host)
            var figures = try await scrape(service)
            // An answer is counted after its last byte, so the client may see the bytes first.
            while figures[#"mediavault_http_requests_total{code="200",method="GET",route="media"}"#] != 2 {
                figures = try await scrape(service)
            }
            for (name, value) in [
                ("fetched_bytes_total", 300_000), ("held_bytes", 300_000), ("sealed_bytes_total", 300_000),
                ("hits_total", 1), (#"fills_total{kind="miss"}"#, 1), (#"fills_total{kind="partial"}"#, 0),
                ("damage_total", 0), (#"errors_total{class="unsatisfiableRange"}"#, 1), ("resources", 1),
                (#"http_requests_total{code="416",method="GET",route="media"}"#, 1),
                (#"http_requests_total{code="404",method="GET",route="none"}"#, 1),
                (#"http_requests_total{code="501",method="other",route="none"}"#, 1),
                (#"origin_errors_total{kind="unreachable"}"#, 0), ("key_generation", 1), ("ready", 1),
                (#"build_info{version="\#(Vault.version)"}"#, 1),
            ] { #expect(figures["mediavault_\(name)"] == Double(value), "\(name)") }
            #expect(figures["mediavault_served_bytes_total"] ?? 0 >= 600_000)
            #expect(figures["mediavault_opened_bytes_total"] ?? 0 >= 300_000)
            #expect(figures["mediavault_open_requests"] ?? 0 >= 1)
            #expect(figures[#"mediavault_open_connections{listener="control"}"#] ?? 0 >= 1)
            #expect(figures["mediavault_disk_free_bytes"] ?? 0 > 0)
            #expect(figures["mediavault_disk_size_bytes"] ?? 0 > figures["mediavault_disk_free_bytes"] ?? 0)
            #expect((0..<3600).contains(figures["mediavault_key_generation_age_seconds"] ?? -1))
            // Without a limit and without a verification, these have no value.
            for name in ["max_size_bytes", "max_age_seconds", "last_verify_sound"] {
                #expect(figures["mediavault_\(name)"] == nil, "\(name)")
            }
            #expect(!figures.keys.contains { $0.contains("PROPFIND") })
            #expect(figures.keys.allSatisfy { !$0.contains("hunter2") && !$0.contains("film") })
        }
    }

    @Test("All metrics follow the rules of Prometheus, and each has a help")
    func rules() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            try await use(service)
            let text = try await text(of: service)
            #expect(MetricRules.faults(in: text) == [])
            let types = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
            let exported = Set(types.map { $0.split(separator: " ")[2] })
            #expect(exported == Set(MetricHelp.sentences.keys.map { Substring($0) }))
        }
    }

    @Test(
        "Every metric that the dashboard and the alerts name is exported",
        arguments: ["grafana-dashboard.json", "alerts.yml"])
    func monitoring(file: String) async throws {
        let content = try String(contentsOf: Self.monitoring.appending(path: file), encoding: .utf8)
        let named = Set(content.matches(of: /mediavault_[a-z_]+/).map { String($0.output) })
        #expect(named.count > 8, "a file that names nothing proves nothing")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            try await use(service)
            let lines = try await text(of: service).split(separator: "\n").filter { !$0.hasPrefix("#") }
            let exported = Set(lines.map { String($0.prefix { $0 != "{" && $0 != " " }) })
            #expect(named.subtracting(exported).isEmpty)
        }
    }

    private static let monitoring = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Scripts/monitoring")

    /// Gives every metric a value: sets limits, requests media, and verifies.
    private func use(_ service: RunningService) async throws {
        try await service.vault.settings.setLimits(StorageLimits(maxSize: 1 << 30, maxAge: 86_400))
        _ = try await service.client().ask("GET", "/healthz", host: service.host)
        let served = RemoteVault(ControlClient(folder: service.folder))
        #expect(
            try await served.follow(Operations.Upkeep.verify, VerificationRequest(VerifyOptions(), of: [])) { _ in }
                .isSound)
    }

    private func text(of service: RunningService) async throws -> String {
        String(decoding: try await service.control("GET", "/metrics").body, as: UTF8.self)
    }

    @Test("The limits in force and the last verification of the whole vault are reported; one of a sample is not")
    func limitsAndVerify() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            try await service.vault.settings.setLimits(StorageLimits(maxSize: 1 << 30, maxAge: 86_400, minFree: 5))
            let served = RemoteVault(ControlClient(folder: service.folder))
            _ = try await served.follow(
                Operations.Upkeep.verify, VerificationRequest(VerifyOptions(sample: 50), of: [])
            ) { _ in }
            let before = try await scrape(service)
            #expect(before["mediavault_last_verify_timestamp_seconds"] == nil)
            #expect(before["mediavault_max_size_bytes"] == 1_073_741_824)
            #expect(before["mediavault_max_age_seconds"] == 86_400)
            #expect(before["mediavault_min_free_bytes"] == 5)
            let began = Date().timeIntervalSince1970.rounded(.down)
            _ = try await served.follow(Operations.Upkeep.verify, VerificationRequest(VerifyOptions(), of: [])) { _ in }
            let after = try await scrape(service)
            #expect(after["mediavault_last_verify_timestamp_seconds"] ?? 0 >= began)
            #expect(after["mediavault_last_verify_sound"] == 1)
        }
    }

    @Test("Failed requests to origins are counted by kind, whether or not a player waits for them")
    func originErrors() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        let url = origin.url("/film")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            #expect(try await service.ask("GET", url)?.head.status == 404)
            let refused = try await scrape(service)
            #expect(refused[#"mediavault_origin_errors_total{kind="refused"}"#] ?? 0 >= 1)
            #expect(refused[#"mediavault_origin_errors_total{kind="unreachable"}"#] == 0)
            origin.stop()
            #expect(try await service.ask("GET", url)?.head.status == 504)
            #expect(try await scrape(service)[#"mediavault_origin_errors_total{kind="unreachable"}"#] ?? 0 >= 1)
        }
    }

    @Test("A locked vault is reported as not ready, with the metrics of the service alone")
    func notReady() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            #expect(try await scrape(service)["mediavault_ready"] == 1)
            try await RemoteVault(ControlClient(folder: service.folder)).lock()
            let figures = try await scrape(service)
            #expect(figures["mediavault_ready"] == 0 && figures["mediavault_held_bytes"] == nil)
            #expect(figures["mediavault_open_requests"] ?? 0 >= 1)
        }
    }

    @Test("A service that only reads its vault, because the disk was full, is reported as storing nothing")
    func reader() async throws {
        let test = try await TestVault()
        let free = try await RunningService.run(over: test, hasControl: true) { service in
            let figures = try await scrape(service)
            #expect(figures["mediavault_store_refuses"] == 0)
            return figures["mediavault_min_free_bytes"]
        }
        try await RunningService.run(over: test, hasControl: true, access: .reader) { service in
            let figures = try await scrape(service)
            #expect(figures["mediavault_store_refuses"] == 1)
            #expect(figures["mediavault_min_free_bytes"] == free && free ?? 0 > 0)
        }
    }

    @Test("Fetched bytes are those of this run, so that a count that was lost with a kill cannot make them fall")
    func fetchedOfRun() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 300_000))
        defer { origin.stop() }
        let (url, test) = (origin.url("/film"), try await TestVault())
        let fetched = try await RunningService.run(over: test, hasControl: true) { service in
            for try await _ in service.vault.download(url) {}
            return try await scrape(service)["mediavault_fetched_bytes_total"]
        }
        #expect(fetched == 300_000)
        try await RunningService.run(over: test, hasControl: true) { service in
            let (counted, status) = (try await scrape(service), try await service.vault.status())
            #expect(counted["mediavault_fetched_bytes_total"] == 0 && status.bytesFetched == 300_000)
        }
    }

    @Test("The last verification of the whole vault is known after a restart, with its result, whoever started it")
    func verifyOfLastRun() async throws {
        let test = try await TestVault()
        let verified = try await RunningService.run(over: test, hasControl: true) { service in
            for try await _ in service.vault.checks.verify() {}
            return try await scrape(service)["mediavault_last_verify_timestamp_seconds"]
        }
        #expect(verified ?? 0 > 0)
        try await RunningService.run(over: test, hasControl: true) { service in
            let figures = try await scrape(service)
            #expect(figures["mediavault_last_verify_timestamp_seconds"] == verified)
            #expect(figures["mediavault_last_verify_sound"] == 1)
        }
    }

    @Test("Why the vault cannot be read is counted at each scrape, and logged once")
    func notReadyReason() async throws {
        let recorder = LogRecorder()
        let test = try await TestVault()
        try await RunningService.run(over: test, hasControl: true, logger: recorder.logger) { service in
            try await RemoteVault(ControlClient(folder: service.folder)).lock()
            _ = try await scrape(service)
            #expect(try await scrape(service)[#"mediavault_errors_total{class="locked"}"#] == 2)
        }
        let told = recorder.lines.filter { $0.text.hasPrefix("the vault cannot be read") }
        #expect(told.count == 1 && told.first?.level == .warning, "\(recorder.lines.map(\.text))")
        #expect(told.first?.text.contains(#""reason": locked"#) == true)
    }

    @Test("A download that fails is an error by its code, whether or not a client waits for it")
    func failedDownloads() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        defer { origin.stop() }
        let url = origin.url("/film")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            _ = try await service.download(url).lastEvent()
            let attended = try await scrape(service)[#"mediavault_errors_total{class="refused"}"#]
            #expect(attended == 1)
            let order = #"{"url":"\#(url.absoluteString)","detached":true}"#
            #expect(try await service.control("POST", "/api/v1/downloads", body: order).head.status == 202)
            var counted = attended
            while counted == attended, try await service.vault.queue.counts().failed == 0 {
                counted = try await scrape(service)[#"mediavault_errors_total{class="refused"}"#]
            }
            // The count follows the end of the download.
            for _ in 0..<500 where counted == attended {
                counted = try await scrape(service)[#"mediavault_errors_total{class="refused"}"#]
            }
            #expect(counted == 2)
            let figures = try await scrape(service)
            #expect(figures[#"mediavault_downloads{state="failed"}"#] == 1)
            for state in ["damaged", "paused", "running", "waiting"] {
                #expect(figures[#"mediavault_downloads{state="\#(state)"}"#] == 0, "\(state)")
            }
        }
    }

    @Test("Over the network the metrics require a token, and are 401 without one")
    func token() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            let refused = try #require(await service.client().ask("GET", "/metrics", host: service.host))
            #expect(refused.head.status == 401)
            let answer = try await service.authorized("GET", "/metrics")
            #expect(answer.head.status == 200)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(text.contains("# TYPE mediavault_open_requests gauge\nmediavault_open_requests "))
        }
    }
}
