import Foundation
import Logging
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Control socket", .timeLimit(.minutes(5)))
struct ControlSocketTests {
    private let title = ScriptedResource(seed: 5, length: 2_000_000)

    // MARK: The socket

    @Test("The socket is accessible only to its owner, and exists only while the service runs")
    func file() async throws {
        let test = try await TestVault()
        let path = test.place.folder + "/control.sock"
        try await RunningService.run(over: test, hasControl: true) { _ in
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(attributes[.type] as? FileAttributeType == .typeSocket)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("A socket left by a killed service is replaced")
    func stale() async throws {
        let test = try await TestVault()
        let path = test.place.folder + "/control.sock"
        try await RunningService.run(over: test, hasControl: true) { _ in
            // A hard link to the socket outlives the service.
            try FileManager.default.linkItem(atPath: path, toPath: path + ".left")
        }
        try FileManager.default.moveItem(atPath: path + ".left", toPath: path)
        let isAnswered = await ControlClient(folder: test.place.folder).isAnswered()
        #expect(!isAnswered)
        try await RunningService.run(over: test, hasControl: true) { service in
            let answer = try await service.control("GET", "/api/v1/status")
            #expect(answer.head.status == 200)
        }
    }

    @Test("A folder whose path is too long for a socket still has one")
    func longPath() async throws {
        let test = try await TestVault(folder: String(repeating: "long-", count: 40))
        try await RunningService.run(over: test, hasControl: true) { service in
            #expect(service.folder.utf8.count > 200)
            let status = try await RemoteVault(ControlClient(folder: service.folder)).call(Operations.Upkeep.status)
            #expect(status.resources == 0)
        }
    }

    @Test("If no socket can be created, the service runs without one and logs it once")
    func noSocket() async throws {
        let log = LogRecorder()
        let test = try await TestVault()
        // A directory has the name of the socket, and is kept.
        try FileManager.default.createDirectory(
            atPath: test.place.folder + "/control.sock", withIntermediateDirectories: false)
        try await RunningService.run(over: test, hasControl: true, logger: log.logger) { service in
            let answer = try #require(await service.client().ask("GET", "/healthz", host: service.host))
            #expect(answer.head.status == 200)
        }
        #expect(log.lines.count { $0.level == .notice && $0.text.contains("control.sock") } == 1)
    }

    @Test("If another process listens on the socket, the service runs without it and logs it once")
    func occupied() async throws {
        let log = LogRecorder()
        let (test, other) = (try await TestVault(), try await TestVault())
        let path = test.place.folder + "/control.sock"
        try await RunningService.run(over: other, hasControl: true) { service in
            try FileManager.default.linkItem(atPath: service.folder + "/control.sock", toPath: path)
            try await RunningService.run(over: test, hasControl: true, logger: log.logger) { _ in }
            let answer = try await RawClient(path: path).ask("GET", "/api/v1/status", host: "localhost")
            #expect(answer?.head.status == 200)
        }
        #expect(log.lines.count { $0.level == .notice && $0.text.contains("already in use") } == 1)
    }

    // MARK: Requests

    @Test("The socket needs no token, serves no media, and answers unknown paths with a 404 that says what is unknown")
    func routes() async throws {
        let origin = try ScriptedOrigin(title)
        defer { origin.stop() }
        let url = origin.url()
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let known = try await service.control("GET", "/api/v1/status")
            #expect(known.head.status == 200)
            for (target, detail) in [
                ("/", nil), ("/healthz", nil), (service.target(url), nil), ("/api/v1/", "no such path"),
                ("/api/v1/other", "no such path"), ("/api/v1/status/", "no such path"),
                ("/api/v1/resources/e7", "no id of a resource"), ("/api/v1/tokens/abc", "no such path"),
                ("/api/v1/resources/aaaaaaaa/nothing", "no such path"),
            ] as [(String, String?)] {
                let answer = try await service.control("GET", target)
                let problem: ProblemDocument = try JSONText.read(from: answer.body)
                #expect(answer.head.status == 404 && (problem.detail == nil) == (detail == nil), "\(target)")
                #expect(detail.map { problem.detail?.contains($0) == true } ?? true, "\(problem.detail ?? "")")
            }
        }
        #expect(origin.exchanges.isEmpty)
    }

    @Test("A client that expects 100 Continue gets it, and close is obeyed in any letter case (RFC 9110 §10.1.1)")
    func connectionOptions() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let client = try service.controlClient()
            await client.send(
                "POST /api/v1/prunes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
                    + "Expect: 100-continue\r\nConnection: CLOSE\r\n\r\n")
            #expect(await client.readHead()?.status == 100)
            await client.send("{}")
            let head = try #require(await client.readHead())
            #expect(head.status == 200 && head.fields["connection"] == "close")
            _ = await client.read(head.fields["content-length"].flatMap { Int($0) } ?? 0)
            #expect(await client.readToEnd() == [])
        }
    }

    @Test("Over the network the same routes require a token", arguments: APIRoute.allCases)
    func network(route: APIRoute) async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let method = route.methods[0]
            let client = try service.client()
            let path = Self.path(of: route)
            let refused = try #require(await client.ask(method, path, host: service.host))
            #expect(refused.head.status == 401)
            let fields: KeyValuePairs = ["Authorization": "Bearer \(service.token)"]
            let answer = try #require(await client.ask(method, path, host: service.host, fields: fields))
            // A 400 for a missing body or query, or a 404 for an id that the vault does not have, shows that the request
            // was admitted.
            let isWhole = [
                "status", "resources", "settings", "downloads", "events", "openapi.json", "revocations", "audit",
                "locks", "keys",
                "rewraps", "keyring", "links", "tokens", "tickets", "readiness", "subscriptions", "sessions",
                "evictions",
                "viewers", "shares", "positions", "history", "playbacks", "collections", "log",
                "languages",
            ].contains(route.rawValue)
            let needsMore = ["name", "mode", "position", "subtitles"].contains { route.rawValue.hasSuffix($0) }
            // A token is no session.
            let isMissing = route == .session || path != route.path && !needsMore
            #expect(answer.head.status == (isWhole ? 200 : isMissing ? 404 : 400))
        }
    }

    /// Returns the path of a route, with an id that no resource has.
    private static func path(of route: APIRoute) -> String {
        route.path.replacing("{id}", with: "aaaaaaaa")
    }

    @Test("Every endpoint that is listed is answered")
    func answered() async throws {
        let all = Endpoint.byRoute.values.flatMap(\.self).filter(\.ends)
        #expect(all.count > 70)
        // Once the vault is locked, it answers nothing else.
        let sorted = all.sorted {
            ($0.route == .locks ? 1 : 0, $0.route.rawValue) < ($1.route == .locks ? 1 : 0, $1.route.rawValue)
        }
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for endpoint in sorted {
                let body = endpoint.hasBody ? "{}" : ""
                let answer = try await service.control(
                    endpoint.method.rawValue, Self.path(of: endpoint.route), body: body)
                #expect(
                    [200, 400, 404, 409].contains(answer.head.status), "\(endpoint.method) \(endpoint.route.rawValue)")
            }
        }
    }

    @Test("An unsupported method is 405, and Allow names the supported ones")
    func methods() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for route in APIRoute.allCases {
                let answer = try await service.control("TRACE", Self.path(of: route))
                #expect(answer.head.status == 405)
                #expect(answer.head.fields["allow"] == route.methods.joined(separator: ", "))
            }
        }
    }

    @Test(
        "An invalid body or query is 400, and the answer repeats none of it",
        arguments: [
            ("POST", "downloads", "{"), ("POST", "downloads", "[]"), ("POST", "downloads", #"{"uri":"hunter2"}"#),
            ("POST", "downloads", #"{"url":"hunter2"}"#), ("POST", "downloads", #"{"url":5}"#),
            ("POST", "downloads", #"{"url":"http://hunter2:hunter2@/?hunter2"}"#),
            ("POST", "removals", "{}"), ("POST", "modes", #"{"url":"hunter2","mode":"default"}"#),
            ("POST", "modes", "5"),
            ("POST", "prunes", #"{"maxSize":"hunter2"}"#), ("POST", "verifications", #"{"sample":"hunter2"}"#),
            ("PATCH", "settings", #"{"maxAge":"hunter2"}"#), ("PATCH", "settings", #"{"maxAge":-1}"#),
            ("GET", "resource", ""), ("GET", "resource?url=hunter2", ""), ("GET", "resource?uri=hunter2", ""),
            ("GET", "content?url=file:///etc/hunter2", ""), ("GET", "resources?after=hunter2", ""),
            ("GET", "resources?limit=hunter2", ""),
            ("POST", "verifications", #"{"sample":101}"#), ("POST", "prunes", #"{"minFree":-1}"#),
            ("PATCH", "settings", #"{"maxSize":5}"#), ("PATCH", "settings", #"{"maxSize":"5"}"#),
            ("PATCH", "settings", #"{"maxSize":"default"}"#), ("POST", "prunes", #"{"maxSize":"default"}"#),
            ("POST", "prunes", #"{"maxSize":5}"#),
            ("POST", "downloads", #"{"url":"http://a.example/","fields":[["","hunter2"]]}"#),
            ("GET", "content?url=http://a.example/hunter2&contentID=%1F", ""), ("POST", "links", #"{"lifetime":5}"#),
            ("GET", "resources?limit=0", ""), ("GET", "resources?limit=1001", ""),
        ])
    func malformed(method: String, target: String, body: String) async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let answer = try await service.control(method, "/api/v1/\(target)", body: body)
            #expect(answer.head.status == 400)
            #expect(answer.head.fields["content-type"] == "application/problem+json")
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(text.contains(#""code":"invalid"#) && !text.contains("hunter2"))
        }
    }

    @Test("A body that is too long is refused")
    func longBody() async throws {
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let url = "http://a.example/" + String(repeating: "a", count: 1 << 20)
            let answer = try await service.control("POST", "/api/v1/removals", body: #"{"url":"\#(url)"}"#)
            #expect(answer.head.status == 400)
        }
    }

    @Test("Of a request, only the method and the status are logged")
    func log() async throws {
        let log = LogRecorder()
        try await RunningService.run(over: try await TestVault(), hasControl: true, logger: log.logger) { service in
            _ = try await service.control("GET", "/api/v1/resource?url=http://a.example/film?token=hunter2")
            _ = try await service.control("POST", "/api/v1/downloads", body: #"{"url":"http://127.0.0.1:1/hunter2"}"#)
        }
        #expect(log.lines.allSatisfy { !$0.text.contains("hunter2") })
        #expect(log.lines.contains { $0.text.contains("404") })
    }

    @Test("A client reports that no service is running, or that it ended before its answer")
    func gone() async throws {
        let test = try await TestVault()
        let served = RemoteVault(ControlClient(folder: test.place.folder))
        await #expect(throws: ServiceGone.self) { try await served.call(Operations.Upkeep.status) }
        try await RunningService.run(over: test, hasControl: true) { _ in
            _ = try await served.call(Operations.Upkeep.status)
        }
        // After the service has answered once, its end is reported as an error.
        let error = await #expect(throws: VaultError.self) { try await served.call(Operations.Upkeep.status) }
        #expect(error?.code == .closed)
    }
}
