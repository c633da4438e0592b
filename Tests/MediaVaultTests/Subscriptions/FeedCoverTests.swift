import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultStorage

/// What an origin has at its paths.
private final class Published: Sendable {
    let files = Locked<[String: ScriptedAnswer]>([:])

    func put(_ path: String, _ bytes: [UInt8], type: String = "application/octet-stream") {
        let answer = ScriptedAnswer(
            200, fields: ["Content-Length": "\(bytes.count)", "Content-Type": type], body: [.bytes(bytes)])
        files.withLock { $0[path] = answer }
    }
}

@Suite("Covers from feeds", .timeLimit(.minutes(5)))
struct FeedCoverTests {
    private typealias Media = PicturedMedia

    private let fixture: VaultFixture
    private let published = Published()

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 9000))
        fixture.origin.answer { [published, resource = fixture.resource] request in
            if request.target.hasSuffix(".mp4") { return resource.answer(to: request) }
            return published.files.withLock { $0[request.target] }
                ?? ScriptedAnswer(404, fields: ["Content-Length": "0"])
        }
    }

    /// Lets the feed name these files, each with the reference to its picture, if it has one.
    private func publish(_ items: [(file: String, picture: String?)], picture: String? = "/show.jpg") {
        let entries = items.map { file, picture in
            "<item><enclosure url='\(file)' type='video/mp4'/>"
                + (picture.map { "<itunes:image href='\($0)'/>" } ?? "") + "</item>"
        }
        let channel = picture.map { "<itunes:image href='\($0)'/>" } ?? ""
        let feed = "<rss xmlns:itunes='i'><channel>\(channel)\(entries.joined())</channel></rss>"
        published.put("/feed", Array(feed.utf8))
    }

    private func reference(_ path: String) -> MediaReference { MediaReference(fixture.origin.url(path)) }

    /// Runs the feed, and works through the download queue.
    private func sync(_ vault: Vault) async throws {
        _ = try await vault.subscriptions.sync(
            .feed(fixture.origin.url("/feed").absoluteString), MediaSubscription.Choices(), queues: true)
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
    }

    private func requests(_ path: String) -> Int {
        fixture.origin.exchanges.count { $0.request.target == path }
    }

    @Test("The titles of a feed are in the order in which they were published, whatever their names and places in it")
    func ordered() async throws {
        let days = [("Meer", 3), ("Anker", 1), ("Zelten", 2)]
        let entries = days.map { name, day in
            "<item><title>\(name)</title><pubDate>2026-10-0\(day)T13:00:00Z</pubDate>"
                + "<enclosure url='/\(name).mp4' type='video/mp4'/></item>"
        }
        published.put("/feed", Array("<rss><channel><title>Hafen</title>\(entries.joined())</channel></rss>".utf8))
        let vault = try await fixture.open()
        try await sync(vault)
        let found = try await vault.collections.all()
        #expect(found.map(\.name) == ["Hafen"] && found[0].titles.map(\.name) == ["Anker", "Zelten", "Meer"])
        await vault.close()
    }

    @Test("Titles get the pictures that their feed names: their own, else that of the feed, which is asked for once")
    func named() async throws {
        let vault = try await fixture.open()
        published.put("/show.jpg", Media.jpeg())
        published.put("/own.png", Media.png, type: "text/html")
        publish([("/a.mp4", nil), ("/b.mp4", "/own.png"), ("/c.mp4", nil), ("/d.mp4", nil)])
        try await sync(vault)
        for (path, picture) in [("/a.mp4", Media.jpeg()), ("/b.mp4", Media.png), ("/d.mp4", Media.jpeg())] {
            let cover = try #require(try await vault.titles.cover(of: reference(path)))
            #expect(cover.bytes == picture)
            #expect(try await vault.titles.summary(of: reference(path))?.cover == cover.tag)
        }
        #expect(requests("/show.jpg") == 1 && requests("/own.png") == 1)
        try await sync(vault)
        #expect(requests("/show.jpg") == 1, "what is held is not asked for again")
        await vault.close()
    }

    @Test("A host that took too long for a picture is not asked for another, so that downloads do not wait for it")
    func slow() async throws {
        let vault = try await fixture.open()
        published.put("/show.jpg", Media.jpeg())
        publish([("/a.mp4", nil)])
        vault.feedPictures.noteSlow(fixture.origin.url("/show.jpg").authority)
        try await sync(vault)
        #expect(try await vault.titles.summary(of: reference("/a.mp4"))?.isWhole == true)
        #expect(requests("/show.jpg") == 0)
        await vault.close()
    }

    @Test("A fetch without a queue takes the picture, too, and a queue takes it after a restart")
    func ways() async throws {
        published.put("/show.jpg", Media.jpeg())
        publish([("/a.mp4", nil), ("/b.mp4", nil)])
        var vault = try await fixture.open()
        let source = MediaSubscription.Source.feed(fixture.origin.url("/feed").absoluteString)
        let report = try await vault.subscriptions.sync(source, MediaSubscription.Choices(), queues: true)
        var options = DownloadOptions()
        options.picture = try #require(report.fetch.first?.entry.picture)
        for try await _ in vault.download(report.fetch[0].entry.reference, options: options) {}
        #expect(try await vault.titles.cover(of: reference("/a.mp4"))?.bytes == Media.jpeg())
        await vault.close()
        vault = try await fixture.open()
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        #expect(try await vault.titles.cover(of: reference("/b.mp4"))?.bytes == Media.jpeg())
        await vault.close()
    }

    @Test(
        "What is no picture, too large, missing or broken off fails nothing, and is not asked for by each title",
        arguments: ["svg", "html", "gif", "empty", "large", "endless", "404", "broken"])
    func unusable(kind: String) async throws {
        let vault = try await fixture.open()
        let large = Media.jpeg(Cover.maxBytes + 1)
        switch kind {
        case "svg": published.put("/show.jpg", Media.svg, type: "image/jpeg")
        case "html": published.put("/show.jpg", Array("<html>".utf8), type: "image/jpeg")
        case "gif": published.put("/show.jpg", Array("GIF89a".utf8), type: "image/gif")
        case "empty": published.put("/show.jpg", [])
        case "large": published.put("/show.jpg", large)
        case "endless":
            var answer = ScriptedAnswer(200, body: [.bytes(large), .bytes(large)])
            answer.sendUntilClose()
            published.files.withLock { [answer] in $0["/show.jpg"] = answer }
        case "broken":
            let answer = ScriptedAnswer(
                200, fields: ["Content-Length": "5000"], body: [.bytes(Media.jpeg(2000)), .close])
            published.files.withLock { $0["/show.jpg"] = answer }
        default: break
        }
        publish([("/a.mp4", nil), ("/b.mp4", nil)])
        try await sync(vault)
        for path in ["/a.mp4", "/b.mp4"] {
            #expect(try await vault.titles.summary(of: reference(path))?.isWhole == true)
            #expect(try await vault.titles.cover(of: reference(path)) == nil)
        }
        #expect(requests("/show.jpg") == 1)
        await vault.close()
    }

    @Test("A picture elsewhere, or behind a redirect that leads elsewhere, is asked for at public addresses only")
    func reach() async throws {
        let vault = try await fixture.open()
        let other = try ScriptedOrigin { _ in
            ScriptedAnswer(200, fields: ["Content-Length": "24"], body: [.bytes(Media.jpeg())])
        }
        defer { other.stop() }
        let elsewhere = other.url("/private.jpg").absoluteString
        published.files.withLock { $0["/moved.jpg"] = .redirect(to: elsewhere) }
        published.files.withLock { $0["/here.jpg"] = .redirect(to: "/show.jpg") }
        published.put("/show.jpg", Media.jpeg())
        publish([("/a.mp4", elsewhere), ("/b.mp4", "/moved.jpg"), ("/c.mp4", "/here.jpg")])
        try await sync(vault)
        #expect(other.exchanges.isEmpty)
        #expect(try await vault.titles.cover(of: reference("/a.mp4")) == nil)
        #expect(try await vault.titles.cover(of: reference("/b.mp4")) == nil)
        #expect(
            try await vault.titles.cover(of: reference("/c.mp4"))?.bytes == Media.jpeg(), "its own origin may lead on")
        await vault.close()
    }

    @Test("What a person gave comes before the picture in the media, and that before the picture of the feed")
    func order() async throws {
        let vault = try await fixture.open()
        published.put("/show.jpg", Media.jpeg())
        let film = Media.film(Media.webp)
        published.put("/film", film, type: "video/mp4")
        publish([("/a.mp4", nil), ("/film", nil)])
        try await sync(vault)
        #expect(try await vault.titles.cover(of: reference("/film"))?.bytes == Media.webp, "its own is not replaced")
        let title = reference("/a.mp4")
        let ofFeed = try #require(try await vault.titles.cover(of: title))
        #expect(ofFeed.bytes == Media.jpeg())
        try await vault.titles.setCover(Media.png, of: title)
        #expect(try await vault.titles.cover(of: title)?.bytes == Media.png)
        try await vault.titles.setCover(nil, of: title)
        #expect(try await vault.titles.cover(of: title) == nil)
        try await sync(vault)
        #expect(try await vault.titles.cover(of: title) == nil, "it was taken away, and does not come back by itself")
        await vault.close()
    }

    @Test("A picture in the media comes before that of the feed, also if it came later")
    func within() async throws {
        let vault = try await fixture.open()
        published.put("/film", Media.film(Media.webp), type: "video/mp4")
        for try await _ in vault.download(reference("/film")) {}
        let id = try await vault.name(reference("/film")).id
        var film = try #require(try vault.store.index.resources.find(id))
        let own = film.coverTag
        try vault.store.covers.set(Media.png, isOfFeed: true, of: &film)
        #expect(film.metadata.cover != nil && film.coverTag == own)
        let cover = try #require(try await vault.titles.cover(of: reference("/film")))
        #expect(cover.bytes == Media.webp && cover.tag == own?.hex)
        #expect(try await vault.titles.summary(of: reference("/film"))?.cover == cover.tag)
        try vault.store.covers.set(Media.jpeg(), of: &film)
        #expect(!film.metadata.hasFeedCover && film.coverTag != own)
        #expect(try await vault.titles.cover(of: reference("/film"))?.bytes == Media.jpeg())
        await vault.close()
    }

    @Test("A vault that may not ask origins takes no picture")
    func offline() async throws {
        published.put("/show.jpg", Media.jpeg())
        let vault = try await fixture.open()
        for try await _ in vault.download(reference("/a.mp4")) {}
        try await vault.titles.setMode(.offline, for: reference("/a.mp4"))
        var options = DownloadOptions()
        options.picture = reference("/show.jpg")
        for try await _ in vault.download(reference("/a.mp4"), options: options) {}
        #expect(requests("/show.jpg") == 0)
        try await vault.titles.setMode(.online, for: reference("/a.mp4"))
        for try await _ in vault.download(reference("/a.mp4"), options: options) {}
        #expect(try await vault.titles.cover(of: reference("/a.mp4"))?.bytes == Media.jpeg())
        await vault.close()
    }
}
