import Foundation
import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultStorage

@Suite("Covers of titles", .timeLimit(.minutes(5)))
struct CoverTests {
    private typealias Media = PicturedMedia

    /// An origin that has these bytes at every path, and answers requests for a single range.
    private static func answer(_ bytes: [UInt8]) -> @Sendable (ScriptedRequest) -> ScriptedAnswer {
        { request in
            var part = 0..<bytes.count
            let numbers = request.range?.dropFirst(6).split(separator: "-").compactMap { Int($0) } ?? []
            if let first = numbers.first {
                part = first..<min(bytes.count, (numbers.dropFirst().first ?? bytes.count) + 1)
            }
            var answer = ScriptedAnswer(
                numbers.isEmpty ? 200 : 206,
                fields: [
                    "Content-Length": "\(part.count)", "Content-Type": "video/mp4", "ETag": "\"v1\"",
                    "Accept-Ranges": "bytes", "Cache-Control": "max-age=3600",
                ])
            if !numbers.isEmpty {
                answer.fields.append(
                    (
                        "Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(bytes.count)"
                    ))
            }
            if request.method == "GET" { answer.body = [.bytes(Array(bytes[part]))] }
            return answer
        }
    }

    private func fixture(_ bytes: [UInt8]) async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer(with: Self.answer(bytes))
        return fixture
    }

    private func code(_ act: () async throws -> Void) async -> VaultError.Code? {
        do {
            try await act()
            return nil
        } catch {
            return (error as? VaultError)?.code
        }
    }

    @Test("The picture within held media is the cover, which lists tell of once it was fetched; nothing is requested")
    func within() async throws {
        let fixture = try await fixture(Media.film(Media.jpeg(200_000)))
        let film = MediaReference(fixture.url)
        let vault = try await fixture.open()
        #expect(try await vault.titles.cover(of: film) == nil, "the vault does not know it")
        for try await _ in vault.download(fixture.url) {}
        let asked = fixture.origin.exchanges.count
        let cover = try #require(try await vault.titles.cover(of: film))
        #expect(cover.type == .jpeg && cover.bytes == Media.jpeg(200_000) && cover.tag.count == 16)
        #expect(try await vault.titles.summary(of: film)?.cover == cover.tag)
        #expect(try await vault.titles.cover(of: film) == cover)
        #expect(fixture.origin.exchanges.count == asked)
        await vault.close()
        let reader = try await fixture.open(.reader, mode: .offline)
        #expect(try await reader.titles.cover(of: film) == cover)
        #expect(fixture.origin.exchanges.count == asked)
        await reader.close()
    }

    @Test("Of media that was only played, lists tell nothing, and the cover is given if its bytes are held")
    func played() async throws {
        let media = Media.box("mdat", Array(repeating: 7, count: 3_000_000))
        let bytes = Media.film(Media.png, kind: 14, before: media)
        let fixture = try await fixture(bytes)
        let film = MediaReference(fixture.url)
        let vault = try await fixture.open()
        let reader = try await vault.read(fixture.url, range: .closed(first: 0, last: 99))
        while try await reader.next() != nil {}
        reader.cancel()
        let asked = fixture.origin.exchanges.count
        #expect(try await vault.titles.cover(of: film) == nil, "its bytes are not held")
        #expect(fixture.origin.exchanges.count == asked, "and are not asked for")
        for try await _ in try await vault.read(fixture.url) {}
        // The last bytes are sealed a moment later.
        let (loader, lease) = try await vault.use(film)
        await loader.settle()
        withExtendedLifetime(lease) {}
        let summary = try await vault.titles.summary(of: film)
        #expect(summary?.isComplete == true && summary?.cover == nil)
        let cover = try #require(try await vault.titles.cover(of: film))
        #expect(cover.bytes == Media.png)
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.summary(of: film)?.cover == cover.tag)
        await vault.close()
    }

    @Test("The cover of an imported file is known at once")
    func imported() async throws {
        let fixture = try await fixture([])
        let folder = try TemporaryFolder()
        let path = folder.path + "/song.mp3"
        try Data(Media.tag(3, Media.frame("APIC", 3, Media.picture(Media.jpeg())))).write(to: URL(filePath: path))
        let vault = try await fixture.open()
        for try await _ in vault.transfer.importFile(
            at: path, as: fixture.url, options: ImportOptions(asksOrigin: false))
        {}
        let cover = try #require(try await vault.titles.cover(of: MediaReference(fixture.url)))
        #expect(cover.bytes == Media.jpeg())
        #expect(try await vault.titles.summary(of: fixture.url)?.cover == cover.tag)
        // The import gives new keys to a title that has only a cover.
        let other = MediaReference(fixture.origin.url("/other.mp3"))
        try await vault.titles.setMode(.online, for: other)
        try await vault.titles.setCover(Media.webp, of: other)
        let given = try #require(try await vault.titles.cover(of: other))
        for try await _ in vault.transfer.importFile(at: path, as: other, options: ImportOptions(asksOrigin: false)) {}
        #expect(try await vault.titles.cover(of: other) == given)
        await vault.close()
    }

    @Test("A cover that was given comes before the one within, stays if the title is fetched again, and goes with it")
    func given() async throws {
        let fixture = try await fixture(Media.film(Media.jpeg()))
        let film = MediaReference(fixture.url)
        var vault = try await fixture.open()
        for try await _ in vault.download(fixture.url) {}
        let within = try #require(try await vault.titles.cover(of: film))
        try await vault.titles.setCover(Media.png, of: film)
        let given = try #require(try await vault.titles.cover(of: film))
        #expect(given.bytes == Media.png && given.type == .png && given.tag != within.tag)
        #expect(try await vault.titles.summary(of: film)?.cover == given.tag)
        try await vault.titles.setName("A film", of: film)
        try await vault.titles.setCover(Media.webp, of: film)
        let another = try #require(try await vault.titles.cover(of: film))
        #expect(another.type == .webp && another.tag != given.tag)
        await vault.close()
        vault = try await fixture.open()
        fixture.origin.answer(with: Self.answer(Media.film(Media.jpeg(99))))
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.cover(of: film) == another)
        #expect(try await vault.titles.summary(of: film)?.name == "A film")
        try await vault.titles.setCover(nil, of: film)
        #expect(try await vault.titles.cover(of: film)?.type == .jpeg)
        try await vault.titles.setCover(Media.webp, of: film)
        try await vault.titles.remove(film)
        #expect(try await vault.titles.cover(of: film) == nil)
        #expect(try vault.store.index.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM cover") } == 0)
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.cover(of: film)?.type == .jpeg, "it is a new title")
        await vault.close()
    }

    @Test("What is no picture is refused, as is a cover for what the vault does not have, and by a reader")
    func refused() async throws {
        let fixture = try await fixture(Media.film(Media.svg))
        let film = MediaReference(fixture.url)
        let vault = try await fixture.open()
        #expect(await code { try await vault.titles.setCover(Media.png, of: film) } == .notHeld)
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.cover(of: film) == nil)
        #expect(try await vault.titles.summary(of: film)?.cover == nil)
        let large = Media.jpeg(Cover.maxBytes + 1)
        for picture in [[], Media.svg, Array("<html><body>".utf8), Array("GIF89a".utf8), large] as [[UInt8]] {
            #expect(await code { try await vault.titles.setCover(picture, of: film) } == .invalidArgument)
        }
        #expect(try await vault.titles.cover(of: film) == nil)
        await vault.close()
        #expect(await code { _ = try await vault.titles.cover(of: film) } == .closed)
        let reader = try await fixture.open(.reader)
        #expect(await code { try await reader.titles.setCover(Media.png, of: film) } == .owned)
        await reader.close()
    }

    @Test("A title of the download queue gets a cover before a byte of it is held, and keeps it when it is fetched")
    func queued() async throws {
        let fixture = try await fixture(Media.film(Media.jpeg()))
        let film = MediaReference(fixture.url)
        var vault = try await fixture.open()
        let title = try #require(try await vault.queue.add([(film, DownloadOptions())]).first?.title)
        let other = try await vault.titles.titleID(of: MediaReference(fixture.origin.url("/other.mp4")))
        #expect(await code { try await vault.titles.setCover(Media.png, ofQueued: other) } == .notHeld)
        #expect(await code { try await vault.titles.setCover(Media.svg, ofQueued: title) } == .invalidArgument)
        #expect(try await vault.titles.summary(of: film) == nil)
        try await vault.titles.setCover(Media.png, ofQueued: title)
        #expect(try await vault.titles.cover(of: film)?.bytes == Media.png && fixture.origin.exchanges.isEmpty)
        await vault.close()
        vault = try await fixture.open()
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        let summary = try #require(try await vault.titles.summary(of: film))
        #expect(summary.isWhole && summary.id == title)
        #expect(try await vault.titles.cover(of: film)?.bytes == Media.png)
        try await vault.titles.setCover(Media.webp, ofQueued: title)
        #expect(try await vault.titles.cover(of: film)?.bytes == Media.webp, "it has left the queue")
        await vault.close()
    }

    @Test("A cover survives a reseal and another locator; one whose row is damaged is found by a check, and is none")
    func keys() async throws {
        let fixture = try await fixture(Media.film(Media.jpeg()))
        let film = MediaReference(fixture.url)
        var vault = try await fixture.open()
        for try await _ in vault.download(fixture.url) {}
        try await vault.titles.setCover(Media.png, of: film)
        let given = try #require(try await vault.titles.cover(of: film))
        for try await _ in vault.keys.reseal([film]) {}
        _ = try await vault.keys.changeLocator()
        #expect(try await vault.titles.cover(of: film) == given)
        await vault.close()
        try fixture.index { try $0.execute(sql: "UPDATE cover SET picture = zeroblob(20000)") }
        vault = try await fixture.open()
        #expect(try await vault.titles.cover(of: film)?.type == .jpeg, "the one within is left")
        var report: VerifyReport?
        for try await step in vault.checks.verify(VerifyOptions(), of: [film]) { report = step.report ?? report }
        #expect(report?.resources.first?.problem?.contains("cover") == true)
        try await vault.titles.setCover(Media.png, of: film)
        for try await step in vault.checks.verify(VerifyOptions(), of: [film]) { report = step.report ?? report }
        #expect(report?.resources.isEmpty == true)
        await vault.close()
    }
}
