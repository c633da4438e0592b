import Foundation
import MediaVault
import Testing
import VaultModel

@testable import VaultService

@Suite("Files of the pages", .timeLimit(.minutes(5)))
struct PageFilesTests {
    private static let origin = "https://vault.example:8300"
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/VaultService/Pages")

    @Test("Every file of the folder is served with its content, its type and a strict policy, and kept by its browser")
    func files() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(names.count > 10, "premise")
        for name in names {
            let content = Array(try Data(contentsOf: Self.folder.appending(path: name)))
            let path = name == "index.html" ? "/" : PageFiles.shared.folder + name
            let answer = PageFiles.shared.answer(to: path, at: Self.origin)
            #expect(answer.status == 200, "\(name)")
            if !name.hasSuffix(".html"), !name.hasSuffix(".webmanifest") { #expect(answer.body == content, "\(name)") }
            let policy = try #require(answer.fields["Content-Security-Policy"])
            let own = Self.origin + PageFiles.shared.folder
            for part in [
                "default-src 'none'", "script-src \(own);", "style-src \(own);", "worker-src \(own);",
                "frame-ancestors 'none'", "base-uri 'none'",
            ] {
                #expect(policy.contains(part), "\(name)")
            }
            #expect(!policy.contains("unsafe"), "\(name)")
            #expect(answer.fields["X-Content-Type-Options"] == "nosniff")
            #expect(answer.fields["Referrer-Policy"] == "no-referrer")
            let isFirst = path == "/"
            #expect(
                answer.fields.values("Cache-Control")
                    == [isFirst ? "no-cache" : "public, max-age=31536000, immutable"], "\(name)")
            #expect((answer.fields["Service-Worker-Allowed"] == "/") == (name == "worker.js"), "\(name)")
        }
    }

    @Test("Where a policy cannot name the host, or the host would be more than a name, it names the service itself")
    func unnameable() {
        for origin in ["http://[::1]:8300", "http://127.0.0.1:8300", "http://a;script-src *", "http://a b"] {
            let policy = PageFiles.shared.answer(to: "/", at: origin).fields["Content-Security-Policy"]
            #expect(policy?.contains("script-src 'self';") == true)
        }
    }

    @Test("The first page names the folder of its version, which another content would change")
    func versions() throws {
        let text = String(decoding: PageFiles.shared.answer(to: "/?a=b", at: Self.origin).body, as: UTF8.self)
        #expect(text.contains("\(PageFiles.shared.folder)app.js") && !text.contains("\"/pages/app.js"))
        #expect(!text.contains("<script>") && !text.contains("style=") && !text.contains("<style"))
        let one = PageFiles([("index.html", [1]), ("a.js", [2])])
        let two = PageFiles([("index.html", [1]), ("a.js", [3])])
        #expect(one.folder != two.folder)
        #expect(one.answer(to: two.folder + "a.js", at: Self.origin).status == 404)
        #expect(one.answer(to: one.folder + "index.html", at: Self.origin).status == 404)
        #expect(one.answer(to: one.folder + "../a.js", at: Self.origin).status == 404)
        let tag = try #require(one.answer(to: "/", at: Self.origin).fields["ETag"])
        let known = one.answer(to: "/", at: Self.origin, knowing: tag)
        #expect(known.status == 304 && known.body.isEmpty)
        #expect(two.answer(to: "/", at: Self.origin, knowing: tag).status == 200)
    }

    @Test(
        "A link on any site leads to the pages, no name of another host does, and nothing but GET and HEAD is allowed")
    func requests() async throws {
        try await RunningService.run(over: try await TestVault()) { service in
            func ask(
                _ fields: KeyValuePairs<String, String> = [:], _ method: String = "GET", host: String? = nil
            ) async throws -> RawHead? {
                try await service.client().ask(method, "/", host: host ?? service.host, fields: fields)?.head
            }
            let plain = try await ask()
            let linked = try await ask(["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"])
            let head = try await ask([:], "HEAD")
            #expect([plain, linked, head].map { $0?.status } == [200, 200, 200])
            let foreign = try await ask(["Origin": "http://a.example"])
            #expect(foreign?.fields["access-control-allow-origin"] == nil)
            let rebound = try await ask(host: "a.example:\(service.port)")
            let posted = try await ask(["Content-Length": "0"], "POST")
            #expect([rebound, posted].map { $0?.status } == [421, 405])
        }
    }
}
