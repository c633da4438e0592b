import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultService

@Suite("Manifests for viewers show nothing of their origin", .timeLimit(.minutes(5)))
struct HiddenManifestTests {
    private static let segment = ScriptedResource(seed: 4, length: 1000)

    /// Returns an origin that serves these texts at their paths, and media at every other path.
    private static func origin(_ texts: [String: (text: String, type: String)]) throws -> ScriptedOrigin {
        try ScriptedOrigin { request in
            guard let known = texts[request.target] else { return segment.answer(to: request) }
            var answer = ScriptedAnswer(
                200, fields: ["Content-Type": known.type, "Content-Length": String(known.text.utf8.count)])
            if request.method == "GET" { answer.body = [.bytes(Array(known.text.utf8))] }
            return answer
        }
    }

    /// Runs a service with a title that is shared with a viewer, and the link that they get.
    private func serving(
        _ origin: ScriptedOrigin, _ path: String,
        _ body: @escaping @Sendable (RunningService, Viewer, _ link: String) async throws -> Void
    ) async throws {
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault()) { service in
            let url = origin.url(path)
            for try await _ in service.vault.download(url) {}
            let id = try #require(try await service.vault.titles.summary(of: url)?.id)
            let anna = try await service.vault.viewers.add("Anna")
            try await service.vault.viewers.share([id], with: anna.id)
            let made = try await AskingViewer(service.vault, anna.id).ask("POST", "links", #"{"id":"\#(id)"}"#).body
            try await body(service, anna, JSONText.read(LinkDocument.self, from: Array(made.utf8)).path)
        }
    }

    private static func get(_ path: String, _ service: RunningService) async throws -> (status: Int, text: String) {
        let answer = try #require(try await service.client().ask("GET", path, host: service.host))
        let text = String(decoding: answer.body, as: UTF8.self)
        for word in ["secretfolder", "hunter2"] {
            #expect(!text.contains(word) && !"\(answer.head.fields)".contains(word), "\(word) in \(path)")
        }
        return (answer.head.status, text)
    }

    private static func links(_ playlist: String) -> [String] {
        playlist.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }.map(String.init)
    }

    @Test("Every link of an HLS title is sealed, also those of its media playlists, and plays")
    func hls() async throws {
        let type = "application/vnd.apple.mpegurl"
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n"
        let origin = try Self.origin([
            "/secretfolder/x.m3u8?token=hunter2": (
                "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\n../low/y.m3u8?token=hunter2\n", type
            ),
            // The playlist itself is elsewhere, but knows where its title is.
            "/low/y.m3u8?token=hunter2": (
                "\(list)# made by 127.0.0.1\n#EXT-X-DATERANGE:ID=\"token=hunter2\",CLASS=\"in /secretfolder\"\n1.ts?token=hunter2\n#EXTINF:2,\n../secretfolder/2.ts\n#EXT-X-ENDLIST\n",
                type
            ),
        ])
        try await serving(origin, "/secretfolder/x.m3u8?token=hunter2") { service, anna, link in
            #expect(link.hasSuffix("/title.m3u8"))
            let main = try await Self.get(link, service)
            let inner = try #require(Self.links(main.text).first)
            #expect(main.status == 200 && inner.hasPrefix("/media/v/") && inner.hasSuffix("/title.m3u8"))
            // A link always has the same text, so that a player recognizes a segment.
            #expect(try await Self.get(link, service).text == main.text)
            let media = try await Self.get(inner, service)
            let segments = Self.links(media.text)
            #expect(segments.count == 2 && !media.text.contains("127.0.0.1"))
            for segment in segments {
                #expect(segment.hasPrefix("/media/v/") && segment.hasSuffix("/title.ts"))
                let answer = try #require(try await service.client().ask("GET", segment, host: service.host))
                #expect(answer.head.status == 200 && answer.body == Self.segment.media.bytes(0..<1000))
            }
            // The links of a title end with its share.
            try await service.vault.viewers.remove(anna.id)
            for path in [link, inner] + segments { #expect(try await Self.get(path, service).status == 404) }
        }
    }

    @Test("No link of a title that the vault does not have any more opens or fetches anything, whoever shares all")
    func gone() async throws {
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n1.ts\n#EXTINF:2,\n2.ts\n#EXT-X-ENDLIST\n"
        let origin = try Self.origin(["/secretfolder/x.m3u8": (list, "application/vnd.apple.mpegurl")])
        try await serving(origin, "/secretfolder/x.m3u8") { service, anna, link in
            let vault = service.vault
            try await vault.viewers.change(anna.id, sharesAll: true)
            let links = try await [link] + Self.links(Self.get(link, service).text)
            #expect(links.count == 3, "premise")
            let title = MediaReference(origin.url("/secretfolder/x.m3u8"))
            let id = try await vault.titles.id(of: title)
            try await vault.titles.remove(title)
            let asked = origin.exchanges.count
            for path in links { #expect(try await Self.get(path, service).status == 404) }
            // This holds even when nothing records that it was removed.
            vault.loaders.environment.removed.end(id)
            for path in links { #expect(try await Self.get(path, service).status == 404) }
            #expect(origin.exchanges.count == asked)
        }
    }

    /// A description of two segments.
    private static func mpd(_ remarks: String = "", media: String = "seg") -> String {
        """
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S" \
        minBufferTime="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">\(remarks)<Period><AdaptationSet \
        mimeType="video/mp4"><SegmentTemplate media="\(media)-$Number$.m4s" initialization="init.mp4" duration="2" \
        startNumber="1"/><Representation id="v" bandwidth="1000"/></AdaptationSet></Period></MPD>
        """
    }

    @Test("The segments of a DASH title are found below its link, and another title in their folder is not")
    func dash() async throws {
        let manifest = (Self.mpd(media: "127.0.0.1"), "application/dash+xml")
        let origin = try Self.origin(["/secretfolder/x.mpd?token=hunter2": manifest])
        try await serving(origin, "/secretfolder/x.mpd?token=hunter2") { service, _, link in
            let other = origin.url("/secretfolder/other.mp4")
            for try await _ in service.vault.download(other) {}
            #expect(link.hasSuffix("/title.mpd"))
            let manifest = try await Self.get(link, service)
            // The name of a file is not hidden: the player makes it from the template.
            #expect(manifest.status == 200 && manifest.text.contains("\"127.0.0.1-$Number$.m4s\""))
            let folder = link.dropLast("title.mpd".count)
            for name in ["init.mp4", "127.0.0.1-1.m4s", "127.0.0.1-2.m4s", "127.0.0.1-1.m4s"] {
                let answer = try #require(try await service.client().ask("GET", folder + name, host: service.host))
                #expect(answer.head.status == 200 && answer.body.count == 1000, "\(name)")
            }
            #expect(try await Self.get(folder + "other.mp4", service).status == 404)
            for escape in ["../other.mp4", "..%2fother.mp4", "%2e%2e/x"] {
                #expect(try await Self.get(folder + escape, service).status == 404, "\(escape)")
            }
        }
    }

    @Test("A file that stands in a DASH manifest has a sealed link, which plays")
    func dashFile() async throws {
        let text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S" \
            minBufferTime="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet \
            mimeType="video/mp4"><Representation id="v" bandwidth="1000"><BaseURL>film.mp4?token=hunter2</BaseURL>\
            <SegmentBase indexRange="0-99"/></Representation></AdaptationSet></Period></MPD>
            """
        let origin = try Self.origin(["/secretfolder/x.mpd": (text, "application/dash+xml")])
        try await serving(origin, "/secretfolder/x.mpd") { service, _, link in
            let manifest = try await Self.get(link, service)
            let file = try #require(manifest.text.split(separator: "BaseURL>").dropFirst().first?.dropLast(2))
            let path = try #require(file.firstRange(of: "/media/v/").map { String(file[$0.lowerBound...]) })
            #expect(path.hasSuffix("/title.mp4"))
            let answer = try #require(try await service.client().ask("GET", path, host: service.host))
            #expect(answer.head.status == 200 && answer.body == Self.segment.media.bytes(0..<1000))
        }
    }

    @Test("A folder that a DASH manifest leads to gives no viewer a list of what is in it")
    func folder() async throws {
        let list = ("<h1>secretfolder</h1>", "text/html")
        let origin = try Self.origin([
            "/secretfolder/x.mpd": (Self.mpd(media: "../cdn/seg"), "application/dash+xml"), "/cdn/": list,
        ])
        try await serving(origin, "/secretfolder/x.mpd") { service, _, link in
            let text = try await Self.get(link, service).text
            let template = try #require(text.split(separator: "media=\"").dropFirst().first)
            let start = try #require(template.firstRange(of: "/media/v/")).lowerBound
            let folder = String(template[start..<(try #require(template.firstRange(of: "seg-$")).lowerBound)])
            let part = try await service.client().ask("GET", folder + "seg-1.m4s", host: service.host)
            #expect(part?.head.status == 200, "premise")
            for rest in ["", "?", "?a", "."] {
                #expect(try await Self.get(folder + rest, service).status == 404, "\(rest)")
            }
            #expect(!origin.exchanges.contains { $0.request.target.hasPrefix("/cdn/") && $0.request.target.count < 8 })
        }
    }

    @Test("A DASH manifest that its origin redirects plays, for the owner and for a viewer")
    func redirected() async throws {
        let manifest = Self.mpd()
        let origin = try ScriptedOrigin { request in
            switch request.target {
            case "/first/x.mpd":
                return ScriptedAnswer(302, fields: ["Location": "/secretfolder/then/x.mpd", "Content-Length": "0"])
            case "/secretfolder/then/x.mpd":
                let length = String(manifest.utf8.count)
                var answer = ScriptedAnswer(
                    200, fields: ["Content-Type": "application/dash+xml", "Content-Length": length])
                if request.method == "GET" { answer.body = [.bytes(Array(manifest.utf8))] }
                return answer
            default:
                let isThere = request.target.hasPrefix("/secretfolder/then/")
                return isThere ? Self.segment.answer(to: request) : ScriptedAnswer(404, fields: ["Content-Length": "0"])
            }
        }
        try await serving(origin, "/first/x.mpd") { service, _, link in
            let owners = try #require(try await service.ask("GET", origin.url("/first/x.mpd")))
            for text in [String(decoding: owners.body, as: UTF8.self), try await Self.get(link, service).text] {
                let base = try #require(text.split(separator: "BaseURL>").dropFirst().first?.dropLast(2))
                let path = try #require(base.firstRange(of: "/media/").map { String(base[$0.lowerBound...]) })
                let part = try await service.client().ask("GET", path + "seg-2.m4s", host: service.host)
                #expect(part?.head.status == 200 && part?.body == Self.segment.media.bytes(0..<1000))
            }
        }
    }

    @Test("A DASH manifest that a playlist names plays through its own link")
    func inner() async throws {
        let list = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nx.mpd\n"
        let origin = try Self.origin([
            "/secretfolder/x.m3u8": (list, "application/vnd.apple.mpegurl"),
            "/secretfolder/x.mpd": (Self.mpd(), "application/dash+xml"),
        ])
        try await serving(origin, "/secretfolder/x.m3u8") { service, _, link in
            let inner = try #require(Self.links(try await Self.get(link, service).text).first)
            #expect(inner.hasSuffix("/title.mpd"))
            #expect(try await Self.get(inner, service).status == 200)
            let segment = String(inner.dropLast("title.mpd".count)) + "seg-1.m4s"
            let part = try await service.client().ask("GET", segment, host: service.host)
            #expect(part?.head.status == 200)
        }
    }

    @Test("What the vault does not have is not found below a viewer's link, not even for one who sees every title")
    func absent() async throws {
        let origin = try Self.origin(["/secretfolder/x.mpd?token=hunter2": (Self.mpd(), "application/dash+xml")])
        try await serving(origin, "/secretfolder/x.mpd?token=hunter2") { service, anna, link in
            try await service.vault.viewers.change(anna.id, sharesAll: true)
            let folder = link.dropLast("title.mpd".count)
            let part = try await service.client().ask("GET", folder + "seg-1.m4s", host: service.host)
            #expect(part?.head.status == 200, "premise")
            #expect(try await Self.get(folder + "elsewhere.m4s", service).status == 404)
            #expect(!origin.exchanges.contains { $0.request.target.contains("elsewhere") })
        }
    }

    @Test("What no player needs is in the manifest of the owner, and not in that of a viewer")
    func remarks() async throws {
        let list = "#EXTM3U\n# a remark\n#EXT-X-OWN:remark\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,a remark\n1.ts\n"
        let foreign = #"<own:x xmlns:own="urn:own">a remark</own:x>"#
        for (path, text, type) in [
            ("/secretfolder/x.m3u8", list + "#EXT-X-ENDLIST\n", "application/vnd.apple.mpegurl"),
            ("/secretfolder/x.mpd", Self.mpd(foreign), "application/dash+xml"),
        ] {
            let origin = try Self.origin([path: (text, type)])
            try await serving(origin, path) { service, _, link in
                let owners = try #require(try await service.ask("GET", origin.url(path)))
                #expect(String(decoding: owners.body, as: UTF8.self).contains("remark"), "premise")
                let shown = try await Self.get(link, service)
                #expect(shown.status == 200 && !shown.text.contains("remark"), "\(path)")
            }
        }
    }
}
