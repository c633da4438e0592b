import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import VaultService

@Suite("API", .timeLimit(.minutes(5)))
struct APITests {
    private let title = ScriptedResource(seed: 7, length: 1_000_000)

    private func serving(
        _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url("/film?t=1")
        try await RunningService.run(over: try await TestVault(), hasControl: true) { try await body($0, url) }
    }

    private func fits(_ answer: (head: RawHead, body: [UInt8]), _ schema: String, status: Int = 200) throws {
        #expect(answer.head.status == status, "\(schema): \(String(decoding: answer.body, as: UTF8.self))")
        #expect(try SchemaCheck.faults(of: answer.body, schema) == [], "\(schema)")
    }

    @Test("Every document matches its schema, for an empty vault and for one with content")
    func documents() async throws {
        try await serving { service, url in
            let named = "?url=\(url.absoluteString)"
            let order = #"{"url":"\#(url.absoluteString)"}"#
            for isFull in [false, true] {
                if isFull {
                    #expect(try await service.ask("GET", url, ["Range": "bytes=10-99"])?.head.status == 206)
                }
                for (target, schema) in [
                    ("status", "Status"), ("resources", "Page"), ("settings", "Settings"), ("downloads", "Downloads"),
                    ("openapi.json", "Description"), ("audit", "Audit"), ("keyring", "Keyring"),
                    ("keys", "Keys"),
                ] { try fits(try await service.control("GET", "/api/v1/\(target)"), schema) }
                for (target, schema) in [("resource", "Resource"), ("explanation", "Explanation")] {
                    let answer = try await service.control("GET", "/api/v1/\(target)\(named)")
                    try fits(answer, isFull ? schema : "Problem", status: isFull ? 200 : 404)
                }
            }
            try fits(try await service.control("POST", "/api/v1/links", body: order), "Link")
            let linked = #"{"resources":[\#(order)],"name":"tv","lifetime":0}"#
            try fits(try await service.control("POST", "/api/v1/links", body: linked), "Link")
            try fits(try await service.control("POST", "/api/v1/links", body: linked), "Problem", status: 409)
            try fits(
                try await service.control("POST", "/api/v1/tokens", body: #"{"scope":"read","lifetime":60}"#),
                "CreatedToken")
            try fits(try await service.control("GET", "/api/v1/links"), "Links")
            try fits(try await service.control("GET", "/api/v1/tokens"), "Tokens")
            try fits(try await service.control("DELETE", "/api/v1/links?all=true"), "Revocation")
            for target in ["links", "tokens?id=ffffffff&all=true", "tokens?all=yes"] {
                try fits(try await service.control("DELETE", "/api/v1/\(target)"), "Problem", status: 400)
            }
            try fits(try await service.control("DELETE", "/api/v1/tokens?id=x"), "Problem", status: 404)
            try fits(try await service.control("POST", "/api/v1/tickets"), "Ticket")
            let moded = #"{"url":"\#(url.absoluteString)","mode":"default"}"#
            try fits(try await service.control("POST", "/api/v1/modes", body: moded), "Nothing")
            try fits(try await service.control("POST", "/api/v1/prunes", body: "{}"), "Prune")
            try fits(
                try await service.control("PATCH", "/api/v1/settings", body: #"{"ignoreQuery":{"*":["t"]}}"#),
                "Settings")
            for body in ["{}", #"{"locator":true}"#] {
                try fits(try await service.control("POST", "/api/v1/rotations", body: body), "Keys")
            }
            try fits(
                try await service.control("POST", "/api/v1/retirements", body: #"{"generation":1}"#), "Problem",
                status: 409)
            try fits(try await service.control("POST", "/api/v1/removals", body: "{}"), "Problem", status: 400)
            for try await _ in service.vault.download(url) {}
            try fits(try await service.control("POST", "/api/v1/removals", body: order), "Removal")
        }
    }

    @Test("Hosts with ignored tags or immutable content are added and removed one by one, and persist")
    func hostSettings() async throws {
        let test = try await TestVault()
        try await RunningService.run(over: test, hasControl: true) { service in
            func change(_ body: String, status: Int = 200) async throws -> SettingsDocument {
                let answer = try await service.control("PATCH", "/api/v1/settings", body: body)
                try fits(answer, status == 200 ? "Settings" : "Problem", status: status)
                return try JSONText.read(from: try await service.control("GET", "/api/v1/settings").body)
            }
            var told = try await change(#"{"ignoreEtag":{"B.example":true,"a.example":true}}"#)
            #expect(told.ignoreEtag == ["a.example", "b.example"] && told.immutable == [])
            told = try await change(#"{"immutable":{"c.example":true},"ignoreEtag":{"a.example":false}}"#)
            #expect(told.ignoreEtag == ["b.example"] && told.immutable == ["c.example"])
            for (member, host) in [("ignoreEtag", "b.example"), ("immutable", "c.example")] {
                for body in [#"{"\#(member)":{"no host":true}}"#, #"{"\#(member)":["\#(host)"]}"#] {
                    #expect(try await change(body, status: 400) == told, "\(body)")
                }
            }
            let policy = try await service.vault.settings.keyPolicy()
            #expect(policy.ignoresEntityTag(of: "B.example") && !policy.ignoresEntityTag(of: "a.example"))
            #expect(policy.isImmutable(host: "c.example"))
        }
        let vault = try await test.open()
        #expect(try await vault.settings.keyPolicy().ignoreEntityTag == ["b.example"])
        #expect(try await vault.settings.keyPolicy().immutable == ["c.example"])
        await vault.close()
    }

    @Test("Reseals and shreds are reported as described, and leave receipts")
    func forgetting() async throws {
        try await serving { service, url in
            for try await _ in service.vault.download(url) {}
            let served = RemoteVault(ControlClient(folder: service.folder))
            let report = try await served.follow(
                Operations.Keys.reseal, ResealRequest([MediaReference(url)], bytesPerSecond: 50_000_000)
            ) { _ in }
            #expect(report.resources == 1 && report.bytes == 1_000_000 && report.problems == 0)
            let named = #"{"resources":[{"url":"\#(url.absoluteString)"},{"url":"http://a.example/none"}]}"#
            try fits(try await service.control("POST", "/api/v1/shreds", body: named), "Shred")
            try fits(try await service.control("GET", "/api/v1/audit"), "Audit")
            let audit: AuditReport = try JSONText.read(
                from: try await service.control("GET", "/api/v1/audit").body)
            #expect(audit.isSound && audit.isAnchored)
            #expect(audit.receipts.map(\.act) == [.reseal, .rotate, .retire, .shred])
            let about = try await service.control("GET", "/api/v1/audit?url=\(url.absoluteString)")
            try fits(about, "Audit")
            let title: AuditReport = try JSONText.read(from: about.body)
            #expect(title.receipts.map(\.act) == [.reseal, .shred])
            #expect(title.receipts.map(\.subject) == [report.subjects.first, report.subjects.first])
            try fits(try await service.control("GET", "/api/v1/audit?url=none"), "Problem", status: 400)
            for (target, body) in [
                ("shreds", #"{"resources":[]}"#), ("reseals", #"{"resources":[]}"#), ("reseals", #"{"limitRate":0}"#),
                ("destructions", #"{"vault":"00000000000000000000000000000000"}"#),
            ] {
                try fits(
                    try await service.control("POST", "/api/v1/\(target)", body: body), "Problem", status: 400)
            }
        }
    }

    @Test("A vault that was destroyed by its id no longer answers")
    func destruction() async throws {
        try await serving { service, url in
            for try await _ in service.vault.download(url) {}
            let id = try await service.vault.status().vaultID
            try fits(
                try await service.control("POST", "/api/v1/destructions", body: #"{"vault":"\#(id)"}"#), "Destruction")
            for (method, target) in [("GET", "status"), ("GET", "resources"), ("POST", "locks"), ("GET", "readiness")] {
                let answer = try await service.control(method, "/api/v1/\(target)")
                try fits(answer, "Problem", status: 503)
                let problem: ProblemDocument = try JSONText.read(from: answer.body)
                #expect(problem.detail?.contains("was destroyed") == true && problem.detail?.contains("delete") == true)
                #expect(problem.detail?.contains("restart") == false, "a restart brings nothing back")
            }
        }
    }

    @Test("The description is served only to clients with the token")
    func description() async throws {
        try await serving { service, _ in
            let client = try service.client()
            let refused = try #require(await client.ask("GET", "/api/v1/openapi.json", host: service.host))
            #expect(refused.head.status == 401)
            let answer = try await service.authorized("GET", "/api/v1/openapi.json")
            #expect(answer.head.status == 200 && answer.head.fields["content-type"] == "application/json")
            #expect(answer.body == PackageResources.openapi_json)
            #expect(APIDescription.tree["openapi"] == .text("3.1.0"))
        }
    }

    @Test("A link created by the API plays, and expires at the requested time")
    func links() async throws {
        try await serving { [title] service, url in
            let body = #"{"url":"\#(url.absoluteString)","lifetime":60}"#
            let answer = try await service.control("POST", "/api/v1/links", body: body)
            let link: LinkDocument = try JSONText.read(from: answer.body)
            let left = try #require(link.expires).seconds - Int64(Date().timeIntervalSince1970)
            #expect((50...60).contains(left))
            let played = try #require(
                await service.client().ask("GET", link.path, host: service.host, fields: ["Range": "bytes=0-9"]))
            #expect(played.head.status == 206 && title.media.matches(played.body, at: 0))
            for body in [
                #"{"url":"\#(url.absoluteString)","lifetime":0}"#,
                #"{"url":"\#(url.absoluteString)","lifetime":31536001}"#, #"{"resources":[]}"#,
                #"{"url":"\#(url.absoluteString)","lifetime":-1}"#,
                #"{"url":"\#(url.absoluteString)","lifetime":5,"expires":"2030-01-01T00:00:00Z"}"#,
                #"{"url":"\#(url.absoluteString)","resources":[{"url":"http://a.example/"}]}"#,
                #"{"url":"http://user:hunter2@a.example/"}"#,
            ] {
                let refused = try await service.control("POST", "/api/v1/links", body: body)
                #expect(refused.head.status == 400)
                #expect(!String(decoding: refused.body, as: UTF8.self).contains("hunter2"))
            }
        }
    }

    @Test("Every answer has its own request id, over the network and over the control socket")
    func requestIDs() async throws {
        try await serving { service, url in
            let client = try service.client()
            var names: [String?] = []
            for target in ["/healthz", "/readyz", "/x", "/api/v1/status", "/metrics", service.target(url)] {
                let answer = try #require(await client.ask("GET", target, host: service.host))
                names.append(answer.head.fields["x-request-id"])
            }
            names.append(
                try #require(await client.ask("GET", "/healthz", host: "a.example")).head.fields["x-request-id"])
            names.append(try await service.control("GET", "/api/v1/status").head.fields["x-request-id"])
            #expect(names.allSatisfy { $0 != nil } && Set(names).count == names.count)
        }
    }

    @Test("Readiness means a readable index; it needs no token, allows GET and HEAD, and gives no reason")
    func readiness() async throws {
        try await serving { service, _ in
            let client = try service.client()
            for method in ["GET", "HEAD"] {
                let answer = try #require(await client.ask(method, "/readyz", host: service.host))
                #expect(answer.head.status == 200)
            }
            let posted = try #require(await client.ask("POST", "/readyz", host: service.host))
            #expect(posted.head.status == 405 && posted.head.fields["allow"] == "GET, HEAD")
            // Without its index the vault cannot know what it holds.
            await service.vault.close()
            let late = try #require(await client.ask("GET", "/readyz", host: service.host))
            #expect(late.head.status == 503 && late.head.fields["content-type"] == "application/problem+json")
            // The route needs no token, so the answer gives no reason.
            #expect(String(decoding: late.body, as: UTF8.self) == #"{"status":503,"title":"Service Unavailable"}"#)
        }
    }
}
