import Logging
import MediaVault
import OriginTestSupport
import Testing
import VaultModel
import VaultService

@Suite("The service log", .timeLimit(.minutes(5)))
struct LogTests {
    @Test(
        "Every answer logs request id, method, route, status and bytes, but no capability and no query"
    )
    func lines() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        defer { origin.stop() }
        let url = origin.url("/secret-folder/film.mp4?token=secret-query")
        let recorder = LogRecorder()
        var configuration = ServiceConfiguration()
        configuration.allowedOrigins = ["https://secret-page.example"]
        let asking: KeyValuePairs = ["Origin": "https://secret-page.example", "Access-Control-Request-Method": "GET"]
        let capability = try await RunningService.run(
            over: try await TestVault(), configuration: configuration, logger: recorder.logger
        ) { service in
            let target = service.target(url)
            for (method, target, fields) in [
                ("GET", target, ["Range": "bytes=0-99"]), ("HEAD", target, [:]), ("GET", target + "x", [:]),
                ("GET", target, ["Range": "bytes=5000-"]), ("POST", target, ["Content-Length": "0"]),
                ("GET", "/api/v1/status", ["Authorization": "Bearer secret-token"]),
                ("OPTIONS", target, asking),
            ] as [(String, String, KeyValuePairs<String, String>)] {
                _ = try await service.client().ask(method, target, host: service.host, fields: fields)
            }
            _ = try await service.client().ask("GET", "/healthz", host: "secret-host")
            return String(target.split(separator: "/")[1])
        }
        let lines = recorder.lines
        for (method, status, bytes) in [("GET", 206, 100), ("HEAD", 200, 0), ("OPTIONS", 204, 0)] {
            let expected = ["\"method\": \(method)", "\"status\": \(status)", "\"bytes\": \(bytes)"]
            #expect(lines.contains { line in expected.allSatisfy { line.text.contains($0) } }, "\(expected)")
        }
        #expect(!lines.contains { $0.text.contains("secret") || $0.text.contains(capability) })
        let answers = lines.filter { $0.text.hasPrefix("answered") }
        #expect(answers.count == 8 && answers.allSatisfy { $0.text.contains(#""request": "#) })
        #expect(answers.count { $0.text.contains(#""route": media"#) } == 6)
        #expect(answers.contains { $0.text.contains(#""cache": MediaVault; fwd=miss; stored"#) })
        #expect(lines.allSatisfy { !$0.text.contains("hb.request.id") })
        let loud = lines.filter { $0.level > .info }.map(\.text)
        #expect(loud.allSatisfy { $0.hasPrefix("the vault was unlocked") }, "\(loud)")
    }

    @Test("The owner gets the last events of the log with their reasons, and no field that may have a name or address")
    func lastEvents() async throws {
        let logger = LogRecorder().logger
        try await RunningService.run(over: try await TestVault(), hasControl: true, logger: logger) { service in
            _ = try await service.control("POST", "/api/v1/viewers", body: #"{"name":"Secret"}"#)
            _ = try await service.control("POST", "/api/v1/sessions", body: #"{"ticket":"secret"}"#)
            let answer = try await service.control("GET", "/api/v1/log")
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.head.status == 200 && text.contains(Vault.version))
            #expect(text.contains("the vault was unlocked"))
            #expect(!text.lowercased().contains("secret") && !text.contains(service.folder))
        }
    }

    @Test("A title over the quota plays whole; its answers report it, and the log has one warning and one all-clear")
    func bypassMonitor() async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 3_000_000))
        defer { origin.stop() }
        let recorder = LogRecorder()
        let limits = StorageLimits(maxSize: 500_000)
        try await RunningService.run(over: try await TestVault(), logger: recorder.logger, limits: limits) { service in
            let (url, media) = (origin.url(), ScriptedResource(length: 3_000_000).media)
            let whole = try #require(try await service.ask("GET", url))
            #expect(whole.body.count == 3_000_000 && media.matches(whole.body, at: 0))
            for first in [1_000_000, 2_000_000] {
                let range = "bytes=\(first)-\(first + 99_999)"
                let part = try #require(try await service.ask("GET", url, ["Range": range]))
                #expect(part.head.fields["cache-status"] == "MediaVault; fwd=bypass; detail=room")
                #expect(media.matches(part.body, at: Int64(first)))
            }
            let start = try #require(try await service.ask("GET", url, ["Range": "bytes=0-99999"]))
            #expect(start.head.fields["cache-status"] == "MediaVault; hit")
            while !recorder.lines.contains(where: { $0.text.contains("stored again") }) {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        #expect(recorder.lines.count { $0.level == .warning } == 1)
        let notices = recorder.lines.filter { $0.level == .notice }
        #expect(notices.count { $0.text.contains("stored again") } == 1)
    }

    @Test("Evictions are logged in one notice, with their bytes")
    func evictions() async throws {
        let title = ScriptedResource(length: 400_000)
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let recorder = LogRecorder()
        let limits = StorageLimits(maxSize: 1_000_000)
        try await RunningService.run(over: try await TestVault(), logger: recorder.logger, limits: limits) { service in
            for number in 0..<6 {
                let url = origin.url("/\(number).mp4?token=secret")
                #expect(try await service.ask("GET", url)?.body.count == 400_000)
            }
            while !recorder.lines.contains(where: { $0.text.contains("media was evicted") }) {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        let told = recorder.lines.filter { $0.text.contains("media was evicted") }
        #expect(told.count == 1 && told.allSatisfy { $0.level == .notice && $0.text.contains("bytes") }, "\(told)")
        #expect(recorder.lines.allSatisfy { !$0.text.contains("secret") })
    }
}
