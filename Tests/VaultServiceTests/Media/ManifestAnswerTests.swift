import MediaVault
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("Manifests are answered with links of the vault", .timeLimit(.minutes(5)))
struct ManifestAnswerTests {
    private static let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n"

    /// Returns an answer with a text of this type; to HEAD without it.
    private static func text(
        _ text: String, type: String? = "application/vnd.apple.mpegurl", to request: ScriptedRequest
    ) -> ScriptedAnswer {
        var answer = ScriptedAnswer(200, fields: ["ETag": "\"\(text.utf8.count)\"", "Cache-Control": "max-age=3600"])
        if request.fields["If-None-Match"] == "\"\(text.utf8.count)\"" {
            answer.status = 304
            return answer
        }
        if let type { answer.set("Content-Type", type) }
        answer.set("Content-Length", String(text.utf8.count))
        if request.method == "GET" { answer.body = [.bytes(Array(text.utf8))] }
        return answer
    }

    /// Returns an origin that serves these texts at their paths, and media at every other path.
    private static func origin(
        _ texts: [String: String], type: String? = "application/vnd.apple.mpegurl"
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            guard let text = texts[request.target] else { return ScriptedResource(length: 1000).answer(to: request) }
            return Self.text(text, type: type, to: request)
        }
    }

    /// Returns the URIs of a playlist's lines, as targets of the service.
    private static func links(_ body: [UInt8], in target: String) -> [String] {
        let folder = target.prefix(upTo: target.index(after: target.lastIndex(of: "/") ?? target.startIndex))
        return String(decoding: body, as: UTF8.self).split(whereSeparator: \.isNewline)
            .filter { !$0.hasPrefix("#") }.map { $0.hasPrefix("/") ? String($0) : String(folder) + String($0) }
    }

    private static func get(
        _ target: String, _ service: RunningService, _ fields: KeyValuePairs<String, String> = [:],
        method: String = "GET"
    ) async throws -> (head: RawHead, body: [UInt8]) {
        try #require(try await service.client().ask(method, target, host: service.host, fields: fields))
    }

    @Test("What a playlist names in its folder stays relative; all else gets a link of its own, of the right kind")
    func links() async throws {
        let other = try ScriptedOrigin(ScriptedResource(length: 1000))
        let list = "\(Self.list)own.ts\n../beside.ts\n\(other.url("/far.ts"))\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"
        let origin = try Self.origin(["/a/x.m3u8": list])
        try await RunningService.run(over: try await TestVault()) { service in
            let target = service.target(origin.url("/a/x.m3u8"))
            let answer = try await Self.get(target, service)
            #expect(answer.head.status == 200)
            #expect(answer.head.fields["content-type"] == "application/vnd.apple.mpegurl")
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("://"))
            let links = Self.links(answer.body, in: target)
            #expect(links.count == 4 && links[0] == target.replacing("x.m3u8", with: "own.ts"))
            #expect(links[1].contains(".n.") && links[1].hasSuffix("/beside.ts"))
            #expect(links[2].contains(".d.") && links[2].hasSuffix("/far.ts"))
            var statuses: [Int] = []
            for link in links { statuses.append(try await Self.get(link, service).head.status) }
            #expect(statuses == [200, 200, 502, 404])
            #expect(other.exchanges.isEmpty)
        }
    }

    @Test("A link in a manifest expires with the link of the manifest, and is revoked with it")
    func expiry() async throws {
        let origin = try Self.origin(["/a/x.m3u8": Self.list + "../b/s.ts\n#EXT-X-ENDLIST\n"])
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            let url = origin.url("/a/x.m3u8")
            func link() async throws -> String {
                let target = service.target(url)
                return try #require(Self.links(try await Self.get(target, service).body, in: target).first)
            }
            let old = try await link()
            #expect(old.hasPrefix("/media/4000000000."))
            #expect(try await Self.get(old, service).head.status == 200)
            #expect(try await service.control("POST", "/api/v1/revocations").head.status == 200)
            #expect(try await Self.get(old, service).head.status == 404)
            let new = try await link()
            #expect(new != old)
            #expect(try await Self.get(new, service).head.status == 200)
            #expect(origin.exchanges.filter { $0.request.target == "/a/x.m3u8" }.count == 1, "it is held")
        }
    }

    @Test("The rewritten text has a length, a type and a strong tag of its own, for GET, HEAD, ranges and conditions")
    func answers() async throws {
        let origin = try Self.origin(["/a/x.m3u8": Self.list + "../b/s.ts\n#EXT-X-ENDLIST\n"])
        try await RunningService.run(over: try await TestVault()) { service in
            let target = service.target(origin.url("/a/x.m3u8"))
            let whole = try await Self.get(target, service)
            let (tag, count) = (try #require(whole.head.fields["etag"]), whole.body.count)
            #expect(tag.hasPrefix("\"") && whole.head.fields["content-length"] == "\(count)")
            #expect(whole.head.fields["content-security-policy"] == "sandbox")
            #expect(whole.head.fields["cache-status"] == "MediaVault; fwd=miss; stored")
            let head = try await Self.get(target, service, method: "HEAD")
            #expect(head.head.status == 200 && head.head.fields["content-length"] == "\(count)")
            #expect(head.head.fields["etag"] == tag && head.head.fields["cache-status"] == "MediaVault; hit")
            for (fields, status, body) in [
                (["Range": "bytes=0-"], 206, whole.body), (["Range": "bytes=3-6"], 206, Array(whole.body[3..<7])),
                (["Range": "bytes=-4"], 206, Array(whole.body.suffix(4))), (["Range": "bytes=\(count)-"], 416, nil),
                (["Range": "bytes=3-6", "If-Range": tag], 206, Array(whole.body[3..<7])),
                (["Range": "bytes=3-6", "If-Range": "\"x\""], 200, whole.body),
                (["If-None-Match": tag], 304, []), (["If-Match": "\"x\""], 412, nil),
            ] as [(KeyValuePairs<String, String>, Int, [UInt8]?)] {
                let answer = try await Self.get(target, service, fields)
                #expect(answer.head.status == status, "\(fields)")
                if let body { #expect(answer.body == body, "\(fields)") }
            }
            let parts = try await Self.get(target, service, ["Range": "bytes=0-6,-4"])
            #expect(parts.head.status == 206 && parts.head.fields["content-length"] == "\(parts.body.count)")
            #expect(String(decoding: parts.body, as: UTF8.self).contains("#EXTM3U\r\n--"))
            let later = service.vault.tokens.playbackPath(for: origin.url("/a/x.m3u8"), expires: 4_000_000_001)
            #expect(try await Self.get(later, service).head.fields["etag"] != tag, "other links, another text")
            #expect(origin.exchanges.count == 1)
        }
    }

    @Test(
        "A playlist is rewritten on an open connection, too, whatever its type and path say",
        arguments: [
            ("/a/x.m3u8", "application/vnd.apple.mpegurl"), ("/a/x", "audio/x-mpegurl"), ("/a/x", "video/mp4"),
            ("/a/x", nil), ("/a/x.mp4", "application/octet-stream"), ("/a/x.m3u8", "text/plain"),
        ] as [(String, String?)])
    func recognised(path: String, type: String?) async throws {
        let origin = try Self.origin([path: Self.list + "http://10.0.0.1/s.ts\n#EXT-X-ENDLIST\n"], type: type)
        let test = try await TestVault()
        for isOffline in [false, true] {
            try await RunningService.run(over: test, isOffline: isOffline) { service in
                let (target, client) = (service.target(origin.url(path)), try service.client())
                for _ in 0..<4 {
                    let answer = try #require(
                        await client.ask("GET", target, host: service.host, fields: ["Range": "bytes=0-"]))
                    #expect(answer.head.status == 206)
                    #expect(!String(decoding: answer.body, as: UTF8.self).contains("http:"))
                    #expect(answer.head.fields["content-type"] == "application/vnd.apple.mpegurl")
                }
            }
        }
    }

    @Test(
        "Too little of the beginning to show what it is comes from the rewritten text, too, whatever type and path say",
        arguments: ["bytes=0-1", "bytes=0-6", "bytes=0-1,4-5"])
    func tooLittle(range: String) async throws {
        let list = Self.list + "http://10.0.0.1/s.ts\n#EXT-X-ENDLIST\n"
        for (path, type) in [("/a/x.mp4", "video/mp4"), ("/a/x.ts", nil), ("/a/x.m3u8", "video/mp4")] {
            let origin = try Self.origin([path: "\n\n\n\n" + list], type: type)
            try await RunningService.run(over: try await TestVault()) { service in
                let target = service.target(origin.url(path))
                let first = try await Self.get(target, service, ["Range": range])
                let whole = try await Self.get(target, service)
                #expect(first.head.status == 206 && first.head.fields["etag"] == whole.head.fields["etag"], "\(path)")
                #expect(!String(decoding: whole.body, as: UTF8.self).contains("http:"))
            }
        }
    }

    @Test(
        "What the operator plays from a private address is refused to a manifest of another origin as if it were not held"
    )
    func privateBytes() async throws {
        let inside = try ScriptedOrigin(ScriptedResource(length: 1000))
        let list = "\(Self.list)\(inside.url("/held.ts"))\n\(inside.url("/unknown.ts"))\n#EXT-X-ENDLIST\n"
        let origin = try Self.origin(["/a/x.m3u8": list])
        let test = try await TestVault()
        for isOffline in [false, true] {
            try await RunningService.run(over: test, isOffline: isOffline) { service in
                let target = service.target(origin.url("/a/x.m3u8"))
                let links = Self.links(try await Self.get(target, service).body, in: target)
                let client = try service.client()
                for method in ["GET", "HEAD", "GET"] {
                    let own = try await Self.get(service.target(inside.url("/held.ts")), service)
                    #expect(own.head.status == 200 && own.body.count == 1000)
                    for fields in [[:], ["Range": "bytes=0-"], ["Range": "bytes=10-19"], ["If-None-Match": "*"]]
                        as [KeyValuePairs<String, String>]
                    {
                        let held = try #require(
                            await client.ask(method, links[0], host: service.host, fields: fields))
                        let unknown = try #require(
                            await client.ask(method, links[1], host: service.host, fields: fields))
                        #expect(held.head.status == (isOffline ? 504 : 502), "\(method) \(fields)")
                        #expect(held.head.status == unknown.head.status)
                        #expect(
                            String(decoding: held.body, as: UTF8.self)
                                == String(decoding: unknown.body, as: UTF8.self))
                        #expect(held.head.fields["cache-status"] == unknown.head.fields["cache-status"])
                    }
                }
            }
        }
        #expect(inside.exchanges.allSatisfy { $0.request.target == "/held.ts" })
    }

    @Test("What a redirected playlist names is relative to where the redirect led, after a restart too")
    func redirected() async throws {
        let text = Self.list + "s.ts\n#EXT-X-ENDLIST\n"
        let origin = try ScriptedOrigin { request in
            switch request.target {
            case "/x.m3u8": .redirect(to: "/v2/y.m3u8")
            case "/v2/y.m3u8": Self.text(text, to: request)
            default: ScriptedResource(length: 1000).answer(to: request)
            }
        }
        let test = try await TestVault()
        for isOffline in [false, true] {
            try await RunningService.run(over: test, isOffline: isOffline) { service in
                let target = service.target(origin.url("/x.m3u8"))
                let links = Self.links(try await Self.get(target, service).body, in: target)
                #expect(links.count == 1 && links[0].hasSuffix("/v2/s.ts"))
                #expect(try await Self.get(links[0], service).head.status == 200)
            }
        }
        #expect(origin.exchanges.last?.request.target == "/v2/s.ts")
    }

    @Test(
        "A manifest that cannot be used is a problem, and is not passed on",
        arguments: ["<html>Sign in</html>", "#EXTM3U\n#" + String(repeating: "x", count: 100_000), "#EXTM3U\n\u{0}"])
    func refused(text: String) async throws {
        let origin = try Self.origin(["/a/x.m3u8": text])
        try await RunningService.run(over: try await TestVault()) { service in
            for method in ["GET", "HEAD"] {
                let answer = try await Self.get(service.target(origin.url("/a/x.m3u8")), service, method: method)
                #expect(answer.head.status == 502)
                #expect(answer.head.fields["content-type"] == "application/problem+json")
            }
        }
    }

    @Test("A playlist opened for a user gives the user's links to its own origin alone, and they send the credentials")
    func principal() async throws {
        let far = try ScriptedOrigin(ScriptedResource(length: 1000))
        let list = "\(Self.list)own.ts\n/keys/k\n\(far.url("/far.ts"))\n#EXT-X-ENDLIST\n"
        let origin = try ScriptedOrigin { request in
            guard request.fields["Authorization"] == "Bearer one" else {
                return ScriptedAnswer(401, fields: ["Content-Length": "0"])
            }
            return request.target == "/a/x.m3u8"
                ? Self.text(list, to: request) : ScriptedResource(length: 1000).answer(to: request)
        }
        try await RunningService.run(over: try await TestVault()) { service in
            var policy = KeyPolicy()
            try policy.allow("127.0.0.1")
            try await service.vault.settings.setKeyPolicy(policy)
            let reference = MediaReference(origin.url("/a/x.m3u8"), fields: ["Authorization": "Bearer one"])
            for try await _ in service.vault.download(reference) {}
            let target = try service.vault.tokens.playbackPath(for: reference, expires: 4_000_000_000)
            for target in [target, service.target(origin.url("/a/x.m3u8"))] {
                let links = Self.links(try await Self.get(target, service).body, in: target)
                #expect(links.count == 3)
                for link in links { #expect(try await Self.get(link, service).head.status == 200, "\(link)") }
                #expect(far.exchanges.allSatisfy { $0.request.fields["Authorization"] == nil })
                // Each link is for its own target only.
                let moved = links[0].replacing("own.ts", with: "other.ts")
                #expect(try await Self.get(moved, service).head.status == 404)
                #expect(links[2].contains(".d."))
            }
            #expect(!far.exchanges.isEmpty)
        }
    }

    /// What a failing origin sends with status 200 in place of a playlist.
    private static let ill = [
        "", "#EXTM3U\n", #"{"error":"token expired"}"#, "Error: token expired", "<Error><Code>SlowDown</Code></Error>",
    ]

    @Test("What cannot be used as a playlist is never believed: its origin is asked each time", arguments: ill)
    func illAtFirst(_ text: String) async throws {
        let origin = try Self.origin(["/a/x.m3u8": text])
        try await RunningService.run(over: try await TestVault()) { service in
            let url = origin.url("/a/x.m3u8")
            for count in 1...2 {
                let asked = origin.exchanges.count
                #expect(try await Self.get(service.target(url), service).head.status == 502, "\(count)")
                #expect(origin.exchanges.count > asked, "however long its freshness says that it counts")
            }
            #expect(try await service.vault.titles.summary(of: url) == nil)
            origin.answer { Self.text(Self.list + "s.ts\n#EXT-X-ENDLIST\n", to: $0) }
            let well = try await Self.get(service.target(url), service)
            #expect(well.head.status == 200 && Self.links(well.body, in: service.target(url)).count == 1)
        }
    }

    @Test("A playlist that is held is given while its origin sends something else in its place", arguments: ill)
    func illLater(_ text: String) async throws {
        let origin = try ScriptedOrigin { request in
            var answer = Self.text(Self.list + "s.ts\n#EXT-X-ENDLIST\n", to: request)
            answer.set("Cache-Control", "no-cache")
            return answer
        }
        try await RunningService.run(over: try await TestVault()) { service in
            let target = service.target(origin.url("/a/x.m3u8"))
            let first = try await Self.get(target, service)
            #expect(first.head.status == 200)
            let asked = origin.exchanges.count
            origin.answer { Self.text(text, to: $0) }
            var later = try await Self.get(target, service)
            // An origin's answer counts for a moment.
            while origin.exchanges.count == asked { later = try await Self.get(target, service) }
            #expect(later.head.status == 200 && later.body == first.body)
            #expect(later.head.fields["cache-status"]?.contains("invalid-answer") == true, "\(later.head.fields)")
            #expect(try await Self.get(target, service).body == first.body)
        }
    }

    @Test("A live playlist is not stored; without its origin it is given for its window, and then no more")
    func live() async throws {
        let origin = try Self.origin(["/a/x.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\ns.ts\n"])
        let test = try await TestVault()
        try await RunningService.run(over: test) { service in
            let url = origin.url("/a/x.m3u8")
            var first = try await Self.get(service.target(url), service)
            // A busy machine may take so long to answer that the origin is asked again.
            var count = origin.exchanges.count
            #expect(first.head.status == 200)
            #expect(first.head.fields["cache-status"] == "MediaVault; fwd=bypass; detail=live")
            #expect(try await service.vault.titles.summary(of: url) == nil, "it was only played")
            var again = try await Self.get(service.target(url), service)
            // On a busy machine, two requests may be further apart than a moment, but some two are not.
            while origin.exchanges.count != count {
                (first, count) = (again, origin.exchanges.count)
                again = try await Self.get(service.target(url), service)
            }
            #expect(again.body == first.body && again.head.fields["etag"] == first.head.fields["etag"])
            origin.stop()
            var last: RawHead?
            while last?.status != 504 {
                let answer = try await Self.get(service.target(url), service)
                #expect([200, 504].contains(answer.head.status))
                last = answer.head
            }
            try origin.start()
            #expect(try await Self.get(service.target(url), service).head.status == 200)
        }
    }

    @Test("A live playlist that was downloaded stays, and is requested again all the same")
    func downloaded() async throws {
        let origin = try Self.origin(["/a/x.m3u8": Self.list + "s.ts\n"])
        try await RunningService.run(over: try await TestVault()) { service in
            let url = origin.url("/a/x.m3u8")
            for try await _ in service.vault.download(url, options: DownloadOptions(selection: nil)) {}
            let asked = origin.exchanges.count
            #expect(try await Self.get(service.target(url), service).head.status == 200)
            #expect(origin.exchanges.count == asked + 1)
            #expect(origin.exchanges.last?.request.fields["If-None-Match"] != nil)
            #expect(try await service.vault.titles.summary(of: url)?.isComplete == true)
        }
    }
}
