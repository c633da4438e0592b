import MediaVault
import OriginTestSupport
import Testing
import VaultModel

private let loginPage = Array("<!DOCTYPE html><html><body>Sign in</body></html>".utf8)

@Suite("Pages in place of media", .timeLimit(.minutes(5)))
struct MisplacedPageTests {
    /// Returns an answer with a page, with or without a length.
    private static func page(
        _ type: String?, _ body: [UInt8] = loginPage, hasLength: Bool = true, to request: ScriptedRequest
    ) -> ScriptedAnswer {
        var answer = ScriptedAnswer(200, fields: hasLength ? ["Content-Length": "\(body.count)"] : [:])
        if let type { answer.set("Content-Type", type) }
        if request.method == "GET" { answer.body = [.bytes(body)] }
        answer.closes = !hasLength
        return answer
    }

    /// Makes an answer that must be revalidated before it is reused.
    private static func stale(_ answer: ScriptedAnswer) -> ScriptedAnswer {
        var answer = answer
        answer.set("Cache-Control", "max-age=0")
        return answer
    }

    @Test(
        "A page in place of a part is refused and named, nothing of it is kept, and the next fetch gets the part",
        arguments: [
            ("text/html; charset=utf-8", true), ("application/xhtml+xml", true), (nil, true), ("text/html", false),
        ] as [(String?, Bool)])
    func pageAsPart(type: String?, hasLength: Bool) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            request.target.hasPrefix("/480-2.ts")
                ? Self.page(type, hasLength: hasLength, to: request) : TitleFixture.answer(to: request)
        }
        let vault = try await fixture.open()
        var options = TitleFixture.small
        options.requiresMedia = true
        let part = fixture.origin.url("/480-2.ts?token=secret")
        for wasPlayed in [false, true] {
            if wasPlayed { for try await _ in try await vault.read(part) {} }
            let error = await #expect(throws: VaultError.self) {
                try await TitleFixture.download(url, into: vault, options)
            }
            #expect(error?.code == .notMedia && error?.hint == .anyType)
            #expect(error?.message.contains("/480-2.ts") == true && error?.message.contains("secret") == false)
            #expect(error?.message.contains("text/html") == true || error?.message.contains("xhtml") == true)
            #expect(try await vault.titles.summary(of: part) == nil, "something of the page was kept")
            #expect(try await vault.titles.summary(of: url)?.title?.isComplete == false)
        }
        fixture.origin.answer { TitleFixture.answer(to: $0) }
        try await TitleFixture.download(url, into: vault, options)
        #expect(try await vault.titles.summary(of: url)?.title?.isComplete == true)
        await vault.close()
    }

    @Test(
        "A web page or a feed becomes no title, whatever its type; a feed is told apart, and what was asked for is kept",
        arguments: [
            ("text/html", "<!doctype html><html></html>", VaultError.Hint.anyType),
            ("video/mp4", "<!doctype html><html></html>", .anyType),
            ("application/rss+xml", "<?xml version='1.0'?><rss version='2.0'></rss>", .followFeed),
            ("application/octet-stream", "<?xml version='1.0'?><rss version='2.0'></rss>", .followFeed),
            ("text/xml", "<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'></feed>", .followFeed),
            ("application/json", #"{"version":"https://jsonfeed.org/version/1.1","items":[]}"#, .followFeed),
        ])
    func noTitle(type: String, text: String, hint: VaultError.Hint) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 9))
        let bytes = Array(text.utf8)
        fixture.origin.answer { _ in
            ScriptedAnswer(
                200, fields: ["Content-Type": type, "Content-Length": "\(bytes.count)"], body: [.bytes(bytes)])
        }
        let vault = try await fixture.open()
        var options = DownloadOptions()
        options.requiresMedia = true
        let url = fixture.origin.url("/thing")
        for _ in 0..<2 {
            let error = await #expect(throws: VaultError.self) {
                for try await _ in vault.download(url, options: options) {}
            }
            #expect(error?.code == .notMedia && error?.hint == hint)
            #expect(error?.message.contains("follow it as a feed") == (hint == .followFeed))
            #expect(try await vault.titles.summary(of: url) == nil, "something of it was kept")
        }
        options.requiresMedia = false
        for try await _ in vault.download(url, options: options) {}
        #expect(try await vault.titles.summary(of: url)?.isComplete == true)
        await vault.close()
    }

    @Test("A page in place of a media playlist is refused and named, and nothing of it is kept")
    func pageAsPlaylist() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            request.target == "/480.m3u8" ? Self.page("text/html", to: request) : TitleFixture.answer(to: request)
        }
        let vault = try await fixture.open()
        var options = TitleFixture.small
        options.requiresMedia = true
        for _ in 0..<2 {
            let error = await #expect(throws: VaultError.self) {
                try await TitleFixture.download(url, into: vault, options)
            }
            #expect(error?.code == .notMedia && error?.message.contains("/480.m3u8") == true)
            #expect(try await vault.titles.summary(of: fixture.origin.url("/480.m3u8")) == nil)
        }
        fixture.origin.answer { TitleFixture.answer(to: $0) }
        try await TitleFixture.download(url, into: vault, options)
        #expect(try await vault.titles.summary(of: url)?.title?.isComplete == true)
        await vault.close()
    }

    @Test("Without the requirement of media, a page is a part like any other; a key of 16 bytes is always one")
    func anyPart() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            if request.target.hasPrefix("/480-2.ts") { return Self.page("text/html", to: request) }
            guard request.target == "/key" else {
                return TitleFixture.answer(to: request, more: "#EXT-X-KEY:METHOD=AES-128,URI=\"/key\"\n")
            }
            return ScriptedResource(length: 16, contentType: "text/html").answer(to: request)
        }
        let vault = try await fixture.open()
        var options = TitleFixture.small
        options.requiresMedia = true
        let error = await #expect(throws: VaultError.self) {
            try await TitleFixture.download(url, into: vault, options)
        }
        #expect(error?.message.hasPrefix("1 of ") == true, "the key is no page")
        try await TitleFixture.download(url, into: vault)
        #expect(try await vault.titles.summary(of: url)?.title?.isComplete == true)
        await vault.close()
    }

    @Test(
        "What a network sends in place of held media does not replace it",
        arguments: [
            ("text/html", loginPage), (nil, loginPage), ("application/octet-stream", loginPage),
            ("text/plain", loginPage), ("video/mp4", loginPage),
            ("application/json", Array("{\"error\":\"sign in\"}".utf8)),
            (nil, Array("\r\n<!-- the portal of a network -->\n<html><body>Sign in</body></html>".utf8)),
            ("application/octet-stream", Array("<SCRIPT>location = '/login'</SCRIPT>".utf8)),
        ] as [(String?, [UInt8])])
    func portal(type: String?, body: [UInt8]) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000, contentType: "video/mp4"))
        let resource = fixture.resource
        let fresh: @Sendable (ScriptedRequest) -> ScriptedAnswer = { Self.stale(resource.answer(to: $0)) }
        fixture.origin.answer(with: fresh)
        let vault = try await fixture.open()
        #expect(try await fixture.read(vault, .closed(first: 0, last: 59_999)) == 0..<60_000)
        fixture.origin.answer { Self.stale(Self.page(type, body, to: $0)) }
        #expect(try await fixture.read(vault, .closed(first: 0, last: 59_999)) == 0..<60_000, "the film stays")
        await #expect(throws: VaultError.self) { try await fixture.read(vault, .from(60_000)) }
        #expect(try await fixture.read(vault, .closed(first: 0, last: 59_999)) == 0..<60_000, "the film stays")
        fixture.origin.answer(with: fresh)
        let before = fixture.bytesSent
        #expect(try await fixture.read(vault) == 0..<100_000)
        #expect(fixture.bytesSent - before <= 40_002, "what was held was fetched again")
        await vault.close()
    }

    @Test(
        "A document that replaces another kind of file is taken, and so is plain text that is no page",
        arguments: [
            ("/file", "application/json", "{}"), ("/film.mp4", "text/plain", "WEBVTT"),
            ("/film.mp4", "text/plain", "<another format>"), ("/film.mp4", "text/plain", "<tt xml:lang='en'>"),
        ])
    func change(target: String, type: String, text: String) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 1000, contentType: "application/octet-stream"))
        let (resource, url) = (fixture.resource, fixture.origin.url(target))
        fixture.origin.answer { Self.stale(resource.answer(to: $0)) }
        let vault = try await fixture.open()
        #expect(try await fixture.bytes(vault, MediaReference(url)) == 1000)
        fixture.origin.answer { Self.stale(Self.page(type, Array(text.utf8), to: $0)) }
        var bytes: [UInt8] = []
        for try await more in try await vault.read(url) { bytes += more }
        #expect(bytes == Array(text.utf8))
        await vault.close()
    }

    @Test("A page at a path of media is not given for long itself")
    func shortLived() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 100_000, contentType: "video/mp4"))
        let resource = fixture.resource
        fixture.origin.answer { request in
            var answer = Self.page("text/html", to: request)
            answer.set("Cache-Control", "max-age=3600")
            return answer
        }
        let vault = try await fixture.open()
        for try await bytes in try await vault.read(fixture.url) { #expect(bytes == loginPage) }
        fixture.origin.answer { resource.answer(to: $0) }
        #expect(try await fixture.read(vault) == 0..<100_000)
        await vault.close()
    }

    @Test(
        "What is refused as no media is not kept, whatever its size, and the next fetch asks the origin again",
        arguments: [("text/html", 5000), ("application/zip", 5_000_000), ("text/plain", 3_000_000)], [false, true])
    func refused(_ answer: (type: String, length: Int64), wasPlayed: Bool) async throws {
        let other = ScriptedResource(seed: 2, length: answer.length, contentType: answer.type)
        let film = ScriptedResource(length: 100_000, contentType: "video/mp4")
        let fixture = try await VaultFixture(film)
        fixture.origin.answer { other.answer(to: $0) }
        let vault = try await fixture.open()
        if wasPlayed { for try await _ in try await vault.read(fixture.url) {} }
        var options = DownloadOptions()
        options.requiresMedia = true
        for _ in 0..<2 {
            let before = fixture.origin.exchanges.count
            let error = await #expect(throws: VaultError.self) {
                try await TitleFixture.download(fixture.url, into: vault, options)
            }
            #expect(error?.code == .notMedia && error?.hint == .anyType)
            #expect(error?.message.contains("not media: its type is \(answer.type)") == true)
            #expect(fixture.origin.exchanges.count > before, "the origin was not asked")
            #expect(try await vault.titles.summary(of: fixture.url) == nil, "a title was kept")
            #expect(try await vault.status().bytes == 0, "bytes were kept")
        }
        fixture.origin.answer { film.answer(to: $0) }
        #expect(try await TitleFixture.download(fixture.url, into: vault, options)?.isComplete == true)
        await vault.close()
    }

    @Test("What was fetched although it is no media, is pinned, or cannot be asked for again stays when it is refused")
    func kept() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 5000, contentType: "text/html"))
        let vault = try await fixture.open()
        var options = DownloadOptions()
        options.requiresMedia = true
        func refuse() async throws {
            await #expect(throws: VaultError.self) {
                try await TitleFixture.download(fixture.url, into: vault, options)
            }
            #expect(try await vault.titles.summary(of: fixture.url)?.isComplete == true)
        }
        for try await _ in try await vault.read(fixture.url) {}
        // Waits until the bytes are durable.
        while try await vault.status().bytes < 5000 { try await Task.sleep(for: .milliseconds(20)) }
        try await vault.titles.setMode(.offline, for: fixture.url)
        try await refuse()
        try await vault.titles.setMode(nil, for: fixture.url)
        try await vault.titles.pin(MediaReference(fixture.url))
        try await refuse()
        try await vault.titles.remove(MediaReference(fixture.url))
        try await TitleFixture.download(fixture.url, into: vault)
        try await refuse()
        await vault.close()
    }

    @Test("A page is refused if media is required, and nothing of it is kept as a download", arguments: [true, false])
    func page(requiresMedia: Bool) async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 5000, contentType: "text/html; charset=utf-8"))
        let vault = try await fixture.open()
        var options = DownloadOptions()
        options.requiresMedia = requiresMedia
        guard requiresMedia else {
            #expect(try await TitleFixture.download(fixture.url, into: vault, options)?.isComplete == true)
            return await vault.close()
        }
        let error = await #expect(throws: VaultError.self) {
            try await TitleFixture.download(fixture.url, into: vault, options)
        }
        #expect(error?.code == .notMedia && error?.message.contains("text/html") == true)
        #expect(try await vault.titles.summary(of: fixture.url) == nil)
        await vault.close()
    }
}
