import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Covers in the API", .timeLimit(.minutes(5)))
struct CoverRouteTests {
    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Array(repeating: 7, count: 500)
    private static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0] + Array(repeating: 9, count: 500)

    /// Serves a title without a cover.
    private func serving(
        _ body: @escaping @Sendable (RunningService, _ title: MediaURL, _ target: String) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(ScriptedResource(length: 1000))
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            for try await _ in service.vault.download(origin.url()) {}
            let id = try #require(try await service.vault.titles.summary(of: origin.url())?.id)
            try await body(service, origin.url(), "/api/v1/resources/\(id)/cover")
        }
    }

    private static func order(_ picture: [UInt8]) -> String { #"{"image":"\#(Base64.encode(picture))"}"# }

    @Test("A cover is given, shown with its own type and never to be kept, and taken away")
    func roundTrip() async throws {
        try await serving { service, url, target in
            func listed() async throws -> String? {
                let answer = try await service.authorized("GET", "/api/v1/resources")
                #expect(try SchemaCheck.faults(of: answer.body, "Page") == [])
                return try (JSONText.read(from: answer.body) as PageDocument).resources.first?.cover
            }
            #expect(try await service.authorized("GET", target).head.status == 404)
            #expect(try await listed() == nil)
            for (picture, type) in [(Self.png, "image/png"), (Self.jpeg, "image/jpeg")] {
                let set = try await service.authorized("PUT", target, body: Self.order(picture))
                #expect(set.head.status == 200 && String(decoding: set.body, as: UTF8.self) == "{}\n")
                let shown = try await service.authorized("GET", target)
                #expect(shown.head.status == 200 && shown.body == picture)
                let fields = shown.head.fields
                #expect(fields["content-type"] == type && fields["cache-control"] == "no-store")
                #expect(fields["x-content-type-options"] == "nosniff")
                #expect(fields["content-security-policy"] == "default-src 'none'; sandbox")
                #expect(fields["cross-origin-resource-policy"] == "same-origin")
                let tag = try #require(try await listed())
                #expect(fields["etag"] == "\"\(tag)\"")
                let head = try await service.authorized("HEAD", target).head
                #expect(head.status == 200 && head.fields["content-length"] == "\(picture.count)")
                #expect(head.fields["etag"] == fields["etag"] && head.fields["content-type"] == type)
            }
            let summary = try #require(try await service.vault.titles.summary(of: url))
            #expect(summary.cover != nil)
            #expect(try await service.authorized("DELETE", target).head.status == 200)
            #expect(try await service.authorized("GET", target).head.status == 404)
            #expect(try await listed() == nil)
        }
    }

    @Test("A client that has the cover gets 304 without a body, until there is another one")
    func conditions() async throws {
        try await serving { service, _, target in
            _ = try await service.authorized("PUT", target, body: Self.order(Self.png))
            func ask(_ name: String, _ value: String, by method: String = "GET") async throws -> RawHead {
                let fields: KeyValuePairs = ["Authorization": "Bearer \(service.token)", name: value]
                let client = try service.client()
                return try #require(await client.ask(method, target, host: service.host, fields: fields)).head
            }
            let tag = try #require(try await service.authorized("GET", target).head.fields["etag"])
            for method in ["GET", "HEAD"] {
                let head = try await ask("If-None-Match", "\"other\", \(tag)", by: method)
                #expect(head.status == 304 && head.fields["etag"] == tag)
                #expect(head.fields["content-type"] == nil && head.fields["content-length"] == nil)
                #expect(head.fields["cache-control"] == "no-store")
            }
            #expect(try await ask("If-None-Match", "*").status == 304)
            #expect(try await ask("If-None-Match", "\"other\"").status == 200)
            #expect(try await ask("If-Match", "\"other\"").status == 412)
            _ = try await service.authorized("PUT", target, body: Self.order(Self.jpeg))
            #expect(try await ask("If-None-Match", tag).status == 200)
        }
    }

    @Test("What is no picture, too large, or not JSON is refused, and the answer repeats none of it")
    func refused() async throws {
        try await serving { service, _, target in
            let svg = Array("<svg xmlns='http://www.w3.org/2000/svg' onload='hunter2'/>".utf8)
            let large = Self.png + Array(repeating: 0, count: 1 << 20)
            for (body, says) in [
                (Self.order(svg), "no JPEG, PNG or WebP"), (Self.order(Array("<html>".utf8)), "no JPEG"),
                (Self.order([]), "empty"), (Self.order(large), "at most"), (#"{"image":"hunter2!"}"#, "base64"),
                (#"{"image":5}"#, "image must be a text"), ("{}", "lacks the member image"),
                (#"{"image":"iVBORw0KGgo=","type":"image/svg+xml"}"#, "does not know"),
                (#"{"image":"\#(String(repeating: "A", count: 3 << 20))"}"#, "longer than 2 MiB"), ("", "JSON"),
            ] {
                let answer = try await service.control("PUT", target, body: body)
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(
                    answer.head.status == 400 && text.contains(says) && !text.contains("hunter2"), "\(says): \(text)")
            }
            #expect(try await service.control("GET", target).head.status == 404)
            // The largest picture is accepted, and no other route accepts as much.
            let largest = Self.png + Array(repeating: 0, count: Cover.maxBytes - Self.png.count)
            #expect(try await service.control("PUT", target, body: Self.order(largest)).head.status == 200)
            #expect(try await service.control("GET", target).body == largest)
            let name = target.replacing("/cover", with: "/name")
            let long = #"{"name":"\#(String(repeating: "a", count: 1_500_000))"}"#
            #expect(try await service.control("PUT", name, body: long).head.status == 400)
            #expect(try await service.control("POST", target, body: "{}").head.status == 405)
            for method in ["GET", "PUT", "DELETE"] {
                let unknown = try await service.control(
                    method, "/api/v1/resources/aaaaaaaa/cover", body: method == "PUT" ? Self.order(Self.png) : "")
                #expect(unknown.head.status == 404)
            }
        }
    }

    @Test("A token that reads sees covers and changes none; so does one that plays, and none without a token")
    func scopes() async throws {
        try await serving { service, _, target in
            _ = try await service.authorized("PUT", target, body: Self.order(Self.png))
            for (scope, allowed) in [
                (AccessScope.read, [200, 403, 403]), (.play, [200, 403, 403]), (.metrics, [403, 403, 403]),
            ] {
                let token = try await service.vault.access.createToken(scope).text
                for (method, status) in zip(["GET", "PUT", "DELETE"], allowed) {
                    let type: KeyValuePairs = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
                    let (client, body) = (try service.client(), method == "PUT" ? Self.order(Self.jpeg) : "")
                    let answer = try #require(
                        await client.ask(method, target, host: service.host, fields: type, body: body))
                    #expect(answer.head.status == status, "\(scope) \(method)")
                }
            }
            let client = try service.client()
            let answer = try #require(await client.ask("GET", target, host: service.host))
            #expect(answer.head.status == 401)
            #expect(try await service.control("GET", target).body == Self.png)
        }
    }

    @Test("A client of the service gives a title a cover, and takes it away")
    func client() async throws {
        try await serving { service, url, _ in
            let served = RemoteVault(ControlClient(folder: service.folder))
            let reference = MediaReference(url)
            try await served.setCover(Self.png, of: reference)
            #expect(try await service.vault.titles.cover(of: reference)?.bytes == Self.png)
            #expect(try await served.resource(reference)?.cover != nil)
            try await served.setCover(nil, of: reference)
            #expect(try await service.vault.titles.cover(of: reference) == nil)
            let error = await #expect(throws: VaultError.self) {
                try await served.setCover(Self.png, of: MediaReference(MediaURL("http://a.example/film")))
            }
            #expect(error?.code == .notHeld)
        }
    }
}
