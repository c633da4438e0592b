import HTTPTypes
import Hummingbird
import MediaVault
import NIOPosix
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultService

@Suite("What the API gives viewers, and says of them", .timeLimit(.minutes(5)))
struct ViewerRouteTests {
    private static let media = ScriptedResource(seed: 3, length: 1000)

    /// Runs a service over a vault with films under a folder of an origin, by their names.
    private func serving(
        _ films: [String], _ body: @escaping @Sendable (RunningService, ScriptedOrigin, [TitleID]) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(Self.media)
        defer { origin.stop() }
        try await RunningService.run(over: try await TestVault(), hasControl: true) { service in
            var ids: [TitleID] = []
            for name in films {
                let url = origin.url("/secretfolder/\(name).mp4?token=hunter2")
                for try await _ in service.vault.download(url) {}
                ids.append(try #require(try await service.vault.titles.summary(of: url)?.id))
            }
            try await body(service, origin, ids)
        }
    }

    @Test("A viewer is added, listed, changed and removed by the owner, and no answer has the PIN")
    func administration() async throws {
        try await serving(["one"]) { service, _, ids in
            func ask(_ method: String, _ rest: String, _ body: String = "", _ status: Int = 200) async throws -> [UInt8]
            {
                let answer = try await service.control(method, "/api/v1/\(rest)", body: body)
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(answer.head.status == status, "\(method) \(rest): \(text)")
                #expect(!text.contains("24681357"))
                return answer.body
            }
            let added = try await ask("POST", "viewers", #"{"name":"Anna","pin":"24681357"}"#)
            #expect(try SchemaCheck.faults(of: added, "Viewer") == [])
            let anna = try JSONText.read(ViewerDocument.self, from: added)
            #expect(anna.hasPIN && !anna.sharesAll && anna.titles == 0)
            _ = try await ask("POST", "viewers", #"{"name":"anna"}"#, 409)
            for odd in [#"{"name":""}"#, #"{"name":"B","pin":"123"}"#, #"{"name":"B","hasPIN":true}"#, "{}"] {
                _ = try await ask("POST", "viewers", odd, 400)
            }
            let share = #"{"resources":["\#(ids[0])"],"viewer":"\#(anna.id)","shared":true}"#
            #expect(try await SchemaCheck.faults(of: ask("POST", "shares", share), "Shared") == [])
            #expect(try await SchemaCheck.faults(of: ask("GET", "shares"), "Shares") == [])
            let listed = try JSONText.read(ViewersDocument.self, from: try await ask("GET", "viewers"))
            #expect(listed.viewers.map(\.titles) == [1])
            let changed = try await ask(
                "PATCH", "viewers", #"{"id":"\#(anna.id)","name":"Berta","hasPIN":false,"sharesAll":true}"#)
            let berta = try JSONText.read(ViewerDocument.self, from: changed)
            #expect(berta.name == "Berta" && !berta.hasPIN && berta.sharesAll)
            for odd in [
                #"{"id":"x","name":"B"}"#, #"{"id":"\#(anna.id)","hasPIN":true}"#,
                #"{"id":"\#(anna.id)","hasPIN":false,"pin":"24681357"}"#,
            ] { _ = try await ask("PATCH", "viewers", odd, 400) }
            for odd in [
                #"{"resources":[],"viewer":null,"shared":true}"#, #"{"resources":["\#(ids[0])"],"shared":true}"#,
            ] { _ = try await ask("POST", "shares", odd, 400) }
            _ = try await ask("POST", "shares", #"{"resources":["aaaaaaaa"],"viewer":null,"shared":true}"#, 404)
            _ = try await ask("DELETE", "viewers", "", 400)
            _ = try await ask("DELETE", "viewers?id=\(anna.id)")
            _ = try await ask("DELETE", "viewers?id=\(anna.id)", "", 404)
        }
    }

    @Test("A viewer sees what is shared with them; other titles do not exist, and nothing says where they come from")
    func seen() async throws {
        try await serving(["one", "two", "three"]) { service, origin, ids in
            let vault = service.vault
            try await vault.titles.setName("Film B", of: vault.titles.reference(of: ids[0]))
            try await vault.titles.setName("Film A", of: vault.titles.reference(of: ids[1]))
            let anna = try await vault.viewers.add("Anna")
            try await vault.viewers.share([ids[0], ids[1]], with: anna.id)
            let viewer = AskingViewer(vault, anna.id)
            func names(_ query: String) async throws -> [String?] {
                let answer = try await viewer.ask("GET", "resources?\(query)")
                #expect(answer.status == 200 && !answer.body.contains("secretfolder"))
                #expect(!answer.body.contains("hunter2") && !answer.body.contains("127.0.0.1"))
                #expect(try SchemaCheck.faults(of: Array(answer.body.utf8), "ViewedPage") == [])
                return try JSONText.read(ViewedPageDocument.self, from: Array(answer.body.utf8)).resources.map(\.name)
            }
            #expect(try await names("") == ["Film A", "Film B"])
            #expect(try await names("sort=added&filter=held").count == 2)
            #expect(try await names("search=film%20b") == ["Film B"])
            // The ids have the order, and one that is not shared names nothing.
            #expect(try await names("ids=\(ids[0]),\(ids[2]),aaaaaaaa,\(ids[1])") == ["Film B", "Film A"])
            // A search must not reveal what a URL contains.
            for text in ["secretfolder", "mp4", "hunter2", "127.0.0.1", "one"] {
                #expect(try await names("search=\(text)") == [], "\(text)")
            }
            let first = try await viewer.ask("GET", "resources?limit=1")
            let next = try #require(
                try JSONText.read(ViewedPageDocument.self, from: Array(first.body.utf8)).next)
            #expect(try await names("limit=1&after=\(next)") == ["Film B"])
            let one = try await viewer.ask("GET", "resources/\(ids[0])")
            #expect(one.status == 200 && !one.body.contains("secretfolder"))
            #expect(try SchemaCheck.faults(of: Array(one.body.utf8), "ViewedTitle") == [])
            let (hidden, none) = (
                try await viewer.ask("GET", "resources/\(ids[2])"), try await viewer.ask("GET", "resources/aaaaaaaa")
            )
            #expect(hidden.status == 404 && hidden.body == none.body && hidden.head == none.head)
            _ = origin
        }
    }

    @Test(
        "Subtitles are added by the owner, and shown to a viewer as text that no browser runs, in their own languages")
    func subtitles() async throws {
        try await serving(["one"]) { service, _, ids in
            let (vault, target) = (service.vault, "/api/v1/resources/\(ids[0])/subtitles")
            let body = #"{"language":"de","text":"00:00:01,000 --> 00:00:02,000\nHallo"}"#
            for (odd, status) in [
                (#"{"language":"de","text":"a"}"#, 400), (#"{"language":"../x","text":"a"}"#, 400), (body, 200),
            ] { #expect(try await service.control("PUT", target, body: odd).head.status == status) }
            let anna = try await vault.viewers.add("Anna", sharesAll: true)
            let viewer = AskingViewer(vault, anna.id)
            let shown = try await viewer.ask("GET", "resources/\(ids[0])/subtitles?language=de")
            #expect(shown.status == 200 && shown.body == "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nHallo\n")
            #expect(shown.head[.contentType] == "text/vtt; charset=utf-8")
            #expect(shown.head[.xContentTypeOptions] == "nosniff" && shown.head[.cacheControl] == "no-store")
            #expect(shown.head[.contentSecurityPolicy] == "default-src 'none'; sandbox")
            for (query, status) in [("", 400), ("?language=fr", 404)] {
                #expect(try await viewer.ask("GET", "resources/\(ids[0])/subtitles\(query)").status == status)
            }
            #expect(try await viewer.ask("GET", "resources/\(ids[0])").body.contains(#""subtitles":["de"]"#))
            var settings = try await vault.settings.downloads()
            try settings.setLanguages(["en"])
            try await vault.settings.setDownloads(settings)
            #expect(try await viewer.ask("GET", "languages").body.contains(#"["en"]"#))
            let change = #"{"id":"\#(anna.id)","languages":["de","fr"]}"#
            #expect(try await service.control("PATCH", "/api/v1/viewers", body: change).head.status == 200)
            #expect(try await viewer.ask("GET", "languages").body.contains(#"["de","fr"]"#))
            #expect(try await service.control("DELETE", target + "?language=de").head.status == 200)
            #expect(try await service.control("DELETE", target + "?language=de").head.status == 404)
        }
    }

    @Test("A title that is not shared has the answers of one that does not exist, whatever is asked of it")
    func unshared() async throws {
        try await serving(["one", "two"]) { service, _, ids in
            let vault = service.vault
            let anna = try await vault.viewers.add("Anna")
            try await vault.viewers.share([ids[0]], with: anna.id)
            for id in ids {
                try await vault.titles.setCover(
                    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], of: vault.titles.reference(of: id))
                try await vault.titles.addSubtitles(
                    Array("00:00:01,000 --> 00:00:02,000\na".utf8), in: "de", of: vault.titles.reference(of: id))
            }
            let viewer = AskingViewer(vault, anna.id)
            let none = try #require(TitleID("aaaaaaaa"))
            for (method, path, body) in [
                ("GET", "resources/{id}", ""), ("GET", "resources/{id}/cover", ""),
                ("GET", "resources/{id}/subtitles?language=de", ""),
                ("PUT", "resources/{id}/position", #"{"seconds":1}"#), ("POST", "links", #"{"id":"{id}"}"#),
            ] {
                func ask(_ id: TitleID) async throws -> (status: Int, head: HTTPFields, body: String) {
                    try await viewer.ask(
                        method, path.replacing("{id}", with: "\(id)"), body.replacing("{id}", with: "\(id)"))
                }
                let (hidden, missing) = (try await ask(ids[1]), try await ask(none))
                #expect(try await ask(ids[0]).status == 200, "\(method) \(path)")
                #expect(hidden.status == 404 && hidden.status == missing.status, "\(method) \(path)")
                #expect(hidden.head == missing.head && hidden.body == missing.body, "\(method) \(path)")
            }
            #expect(try await viewer.ask("GET", "positions").body.contains(ids[0].description))
            try await vault.viewers.unshare([ids[0]], from: anna.id)
            #expect(try await viewer.ask("GET", "positions").body.contains(#""positions":[]"#))
        }
    }

    @Test("Nothing but the few routes for viewers answers them, whatever the method")
    func allowed() async throws {
        let allowed: Set = [
            "GET resources", "GET resources/{id}", "POST links", "GET events", "GET positions",
            "PUT resources/{id}/position", "GET resources/{id}/cover", "POST tickets", "GET session", "DELETE session",
            "GET collections", "GET resources/{id}/chapters", "GET languages", "GET resources/{id}/subtitles",
        ]
        var found: Set<String> = []
        for route in APIRoute.allCases {
            for method in route.methods where route.isForViewers(method) {
                found.insert("\(method == "HEAD" ? "GET" : method) \(route.rawValue)")
            }
        }
        #expect(found == allowed)
        try await serving(["one"]) { service, _, ids in
            let anna = try await service.vault.viewers.add("Anna", sharesAll: true)
            let viewer = AskingViewer(service.vault, anna.id)
            for route in APIRoute.allCases {
                for method in route.methods where !route.isForViewers(method) {
                    let rest = route.rawValue.replacing("{id}", with: ids[0].description)
                    let answer = try await viewer.ask(method, rest)
                    #expect(answer.status == 403, "\(method) \(rest)")
                }
            }
            #expect(try await viewer.ask("GET", "resources/\(ids[0])").status == 200)
        }
    }

    @Test("A viewer and the owner each have their own positions")
    func positions() async throws {
        try await serving(["one", "two"]) { service, _, ids in
            let anna = try await service.vault.viewers.add("Anna")
            try await service.vault.viewers.share([ids[0]], with: anna.id)
            let viewer = AskingViewer(service.vault, anna.id)
            let path = "resources/\(ids[0])/position"
            #expect(try await viewer.ask("PUT", path, #"{"seconds":70.5,"duration":100}"#).status == 200)
            #expect(try await viewer.ask("PUT", "resources/\(ids[1])/position", #"{"seconds":1}"#).status == 404)
            for odd in [#"{"seconds":-1}"#, #"{"seconds":36000001}"#, #"{"seconds":"1"}"#, "{}"] {
                #expect(try await viewer.ask("PUT", path, odd).status == 400, "\(odd)")
            }
            let told = try await viewer.ask("GET", "positions").body
            #expect(try SchemaCheck.faults(of: Array(told.utf8), "Positions") == [])
            #expect(told.contains(#""seconds":70.5"#) && told.contains(#""duration":100"#))
            let own = try await service.control("GET", "/api/v1/positions")
            #expect(String(decoding: own.body, as: UTF8.self).contains(#""positions":[]"#))
            let put = try await service.control(
                "PUT", "/api/v1/resources/\(ids[1])/position", body: #"{"seconds":3}"#)
            #expect(put.head.status == 200)
            #expect(try await service.vault.viewers.positions(of: nil).map(\.title) == [ids[1]])
            let unknown = try await service.control(
                "PUT", "/api/v1/resources/aaaaaaaa/position", body: #"{"seconds":3}"#)
            #expect(unknown.head.status == 404)
        }
    }

    @Test("A viewer's link plays a shared title with nothing of its URL, until it is shared no more")
    func link() async throws {
        try await serving(["one", "two"]) { service, origin, ids in
            let vault = service.vault
            let anna = try await vault.viewers.add("Anna")
            try await vault.viewers.share([ids[0]], with: anna.id)
            var viewer = AskingViewer(vault, anna.id)
            let token = try await vault.access.createToken(.play)
            viewer.access = vault.tokens.access(byToken: token.text, now: 0)
            func link(_ body: String) async throws -> (status: Int, path: String) {
                let answer = try await viewer.ask("POST", "links", body)
                guard answer.status == 200 else { return (answer.status, answer.body) }
                return (200, try JSONText.read(LinkDocument.self, from: Array(answer.body.utf8)).path)
            }
            let made = try await link(#"{"id":"\#(ids[0])"}"#)
            #expect(made.status == 200 && made.path.hasPrefix("/media/v/") && made.path.hasSuffix("/title.mp4"))
            func get(_ path: String, _ range: String = "bytes=0-") async throws -> (head: RawHead, body: [UInt8]) {
                try #require(
                    try await service.client().ask("GET", path, host: service.host, fields: ["Range": range]))
            }
            for _ in 0..<2 {
                let answer = try await get(made.path, "bytes=100-199")
                #expect(answer.head.status == 206 && answer.body == Self.media.media.bytes(100..<200))
                let fields = "\(answer.head.fields)"
                #expect(!fields.contains("secretfolder") && !fields.contains("127.0.0.1"))
            }
            // No other file of the origin's folder, and no link that was changed.
            let folder = made.path.dropLast("title.mp4".count)
            for other in ["\(folder)two.mp4?token=hunter2", "\(folder)", "\(folder)title.mp3", "\(made.path)?a=b"] {
                #expect(try await get(other).head.status == 404, "\(other)")
            }
            let bytes = Array(made.path.utf8)
            for place in [9, 20, 60, bytes.count - 15] {
                var changed = bytes
                changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                #expect(try await get(String(decoding: changed, as: UTF8.self)).head.status == 404, "\(place)")
            }
            #expect(try await link(#"{"id":"\#(ids[1])"}"#).status == 404)
            for odd in [
                #"{"url":"\#(origin.url("/secretfolder/one.mp4?token=hunter2"))"}"#, #"{"id":"\#(ids[0])","name":"a"}"#,
                #"{"id":"\#(ids[0])","fields":[["A","b"]]}"#,
            ] { #expect(try await link(odd).status == 400, "\(odd)") }
            try await vault.viewers.unshare([ids[0]], from: anna.id)
            #expect(try await get(made.path).head.status == 404)
            try await vault.viewers.share([ids[0]], with: anna.id)
            #expect(try await get(made.path).head.status == 206)
            // It ends with the session that it was created in.
            try await vault.access.revoke([token.grant])
            #expect(try await get(made.path).head.status == 404)
        }
    }

    @Test("A viewer's link ends on an open connection that plays from memory, with its share and with its viewer")
    func openConnection() async throws {
        try await serving(["one"]) { service, _, ids in
            let viewers = service.vault.viewers
            let anna = try await viewers.add("Anna")
            try await viewers.share(ids, with: anna.id)
            let made = try await AskingViewer(service.vault, anna.id).ask("POST", "links", #"{"id":"\#(ids[0])"}"#).body
            let link = try JSONText.read(LinkDocument.self, from: Array(made.utf8)).path
            let client = try service.client()
            func status() async -> Int? {
                await client.ask("GET", link, host: service.host, fields: ["Range": "bytes=0-9"])?.head.status
            }
            for _ in 0..<3 { #expect(await status() == 206) }
            try await viewers.unshare(ids, from: anna.id)
            #expect(await status() == 404)
            try await viewers.share(ids, with: anna.id)
            for _ in 0..<2 { #expect(await status() == 206) }
            try await viewers.remove(anna.id)
            #expect(await status() == 404)
        }
    }

    @Test("A locked vault tells a viewer nothing, plays them nothing, and does not say whether a PIN is right")
    func locked() async throws {
        try await serving(["one"]) { service, _, ids in
            let vault = service.vault
            let anna = try await vault.viewers.add("Anna", pin: PIN("2468"), sharesAll: true)
            let session = try await vault.access.beginSession(of: anna.id, in: nil, endingFormer: nil).secret
            let made = try await AskingViewer(vault, anna.id).ask("POST", "links", #"{"id":"\#(ids[0])"}"#).body
            let link = try JSONText.read(LinkDocument.self, from: Array(made.utf8)).path
            let client = try service.client()
            func status(_ path: String) async -> Int? {
                await client.ask(
                    "GET", path, host: service.host,
                    fields: [
                        "Cookie": "mediavault-\(service.port)=\(session.cookie)", "X-Session-Proof": session.proof,
                        "Range": "bytes=0-9",
                    ])?.head.status
            }
            #expect(await [status("/api/v1/positions"), status(link), status(link)] == [200, 206, 206])
            #expect(try await service.control("POST", "/api/v1/locks").head.status == 200)
            #expect(await [status("/api/v1/positions"), status(link)] == [401, 404])
            var answers: [[UInt8]] = []
            for pin in ["2468", "1357"] {
                let answer = try #require(
                    await service.client().ask(
                        "POST", "/api/v1/sessions", host: service.host,
                        fields: ["Content-Type": "application/json", "Origin": "http://\(service.host)"],
                        body: #"{"name":"Anna","pin":"\#(pin)"}"#))
                #expect(answer.head.status == 503)
                answers.append(answer.body)
            }
            #expect(answers[0] == answers[1])
            let listed = try await service.control("GET", "/api/v1/viewers")
            #expect(listed.head.status == 503 && !String(decoding: listed.body, as: UTF8.self).contains("Anna"))
        }
    }

    @Test("An error of the API tells a viewer nothing of a title's origin, which it tells the owner")
    func errorsOfAPI() async throws {
        try await serving(["one"]) { service, _, ids in
            let anna = try await service.vault.viewers.add("Anna", sharesAll: true)
            let path = "resources/\(ids[0])/cover"
            let owners = try await service.control("GET", "/api/v1/\(path)")
            #expect(String(decoding: owners.body, as: UTF8.self).contains("secretfolder"), "premise")
            let answer = try await AskingViewer(service.vault, anna.id).ask("GET", path)
            #expect(answer.status == 404)
            for word in ["secretfolder", "hunter2", "127.0.0.1", "one.mp4"] {
                #expect(!answer.body.contains(word) && !"\(answer.head)".contains(word), "\(word)")
            }
        }
    }

    @Test("What goes wrong with a title tells a viewer nothing of its origin")
    func errors() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedAnswer(403, fields: ["Content-Length": "0"]) }
        try await RunningService.run(over: try await TestVault()) { service in
            let url = origin.url("/secretfolder/film.mp4?token=hunter2")
            try await service.vault.titles.setMode(.online, for: MediaReference(url))
            let id = try #require(try await service.vault.titles.summary(of: url)?.id)
            let anna = try await service.vault.viewers.add("Anna", sharesAll: true)
            let path = try await AskingViewer(service.vault, anna.id).ask("POST", "links", #"{"id":"\#(id)"}"#).body
            let link = try JSONText.read(LinkDocument.self, from: Array(path.utf8)).path
            let answer = try #require(try await service.client().ask("GET", link, host: service.host))
            let text = String(decoding: answer.body, as: UTF8.self) + "\(answer.head.fields)"
            #expect(answer.head.status == 502 && text.contains("cannot be played at the moment"))
            for word in ["secretfolder", "hunter2", "127.0.0.1:\(url.port ?? 0)/", "film.mp4", "403"] {
                #expect(!text.contains(word), "\(word) in \(text)")
            }
        }
    }

    @Test("A viewer is told of the titles that are shared with them, live as that changes, and of no others")
    func events() async throws {
        try await serving(["one", "two"]) { service, origin, ids in
            let vault = service.vault
            let anna = try await vault.viewers.add("Anna")
            let told = ToldText()
            let listening = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .bind(host: "127.0.0.1", port: 0).get()
            let feed = EventFeed(
                vault: vault, downloads: DownloadRegistry(), only: nil, access: nil, viewer: anna.id,
                channel: UnreadChannel(listening, unread: 0))
            let telling = Task {
                var sent: Int64 = 0
                var writer: any ResponseBodyWriter = RecordingWriter { text in told.add(text) }
                try await feed.write(to: &writer, counting: &sent)
            }
            func wait(for text: String) async throws {
                for _ in 0..<200 where !told.has(text) {
                    try await Task.sleep(for: .milliseconds(50))
                }
                #expect(told.has(text), "\(text)")
            }
            try await wait(for: ":\n")
            try await vault.titles.setName("Hidden", of: vault.titles.reference(of: ids[1]))
            try await vault.viewers.share([ids[0]], with: anna.id)
            try await wait(for: #"event: resource"#)
            try await vault.titles.setName("Shown", of: vault.titles.reference(of: ids[0]))
            try await wait(for: #""name":"Shown""#)
            try await vault.viewers.unshare([ids[0]], from: anna.id)
            try await wait(for: #"event: removed"#)
            _ = try await vault.titles.remove(vault.titles.reference(of: ids[1]))
            try await vault.viewers.share([ids[0]], with: anna.id)
            _ = try await vault.titles.remove(vault.titles.reference(of: ids[0]))
            try await vault.viewers.remove(anna.id)
            // The feed of a former viewer ends.
            try await telling.value
            try await listening.close()
            let text = told.all
            for word in ["Hidden", "secretfolder", "hunter2", "127.0.0.1", ids[1].description, "\"url\""] {
                #expect(!text.contains(word), "\(word)")
            }
            _ = origin
        }
    }
}

/// What a feed has written.
private final class ToldText: Sendable {
    private let text = Locked("")

    var all: String { text.withLock(\.self) }

    func add(_ more: String) { text.withLock { $0 += more } }

    func has(_ part: String) -> Bool { text.withLock { $0.contains(part) } }
}
