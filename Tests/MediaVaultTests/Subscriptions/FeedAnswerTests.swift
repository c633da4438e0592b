import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultManifest

/// Feeds as origins send them: compressed unrequested, in other encodings, long, and with faults.
@Suite("Answers with feeds", .timeLimit(.minutes(5)))
struct FeedAnswerTests {
    private static let item = "<item><title>Ä & B</title><enclosure url='/a.mp4'/></item>"

    /// Runs the feed that an origin sends, without changing anything.
    private static func report(
        _ bytes: [UInt8], _ fields: KeyValuePairs<String, String> = [:], newest: Int64? = nil
    ) async throws -> SyncReport {
        let fixture = try await VaultFixture(ScriptedResource(length: 1000))
        fixture.origin.answer { _ in
            var answer = ScriptedAnswer(200, fields: fields, body: [.bytes(bytes)])
            answer.set("Content-Length", "\(bytes.count)")
            return answer
        }
        let vault = try await fixture.open()
        var choices = MediaSubscription.Choices()
        choices.newest = newest
        let report: Result<SyncReport, any Error>
        do {
            let source = MediaSubscription.Source.feed(fixture.origin.url("/feed").absoluteString)
            report = .success(try await vault.subscriptions.sync(source, choices, isDryRun: true))
        } catch {
            report = .failure(error)
        }
        await vault.close()
        return try report.get()
    }

    private static func rss(_ items: String = item) -> [UInt8] {
        Array("<rss><channel>\(items)</channel></rss>".utf8)
    }

    @Test("What was repaired is in the report of a run")
    func repairs() async throws {
        let report = try await Self.report(Self.rss())
        #expect(report.fetch.map(\.entry.name) == ["Ä & B"] && report.repairs == ["1 bare &"])
    }

    @Test("A feed that is compressed unasked is read, and so is one that only says so", arguments: ["gzip", "x-gzip"])
    func compressed(coding: String) async throws {
        let small = try #require(Gzip.compressed(Self.rss(String(repeating: Self.item, count: 100))))
        for bytes in [small, Self.rss()] {
            let report = try await Self.report(bytes, ["Content-Encoding": coding])
            #expect(report.fetch.map(\.entry.reference.url.path) == ["/a.mp4"])
        }
    }

    @Test("A compressed feed that is damaged, or grows beyond all bounds, is refused, and so is another coding")
    func badlyCompressed() async throws {
        let small = try #require(Gzip.compressed(Self.rss(String(repeating: Self.item, count: 100))))
        let huge = try #require(Gzip.compressed([UInt8](repeating: 0x20, count: Feed.maxBytes + 1)))
        for (bytes, coding) in [(Array(small.dropLast(20)), "gzip"), (huge, "gzip"), (small, "br")] {
            let error = await #expect(throws: VaultError.self) {
                _ = try await Self.report(bytes, ["Content-Encoding": coding])
            }
            #expect(error?.code == .invalidResponse)
        }
    }

    @Test("The encoding that the origin states counts")
    func encoding() async throws {
        let bytes =
            Array("<rss><channel><item><title>".utf8) + [0xE4] + Array("</title><enclosure url='/a'/></item>".utf8)
        let feed = bytes + Array("</channel></rss>".utf8)
        let report = try await Self.report(feed, ["Content-Type": "text/xml; charset=windows-1251"])
        #expect(report.fetch.map(\.entry.name) == ["д"] && report.repairs.isEmpty)
        #expect(try await Self.report(feed).repairs == ["text in windows-1252"])
    }

    @Test("Of a feed with ten thousand and one entries, the newest five are taken, and all of them are too many")
    func long() async throws {
        let items = (0...10_000).map { number in
            "<item><pubDate>2002-10-02T13:00:00Z</pubDate><enclosure url='/\(number)'/></item>"
        }
        let feed = Self.rss(items.joined())
        #expect(
            try await Self.report(feed, newest: 5).fetch.map(\.entry.reference.url.path) == [
                "/0", "/1", "/2", "/3", "/4",
            ])
        await #expect(throws: VaultError.self) { _ = try await Self.report(feed) }
    }

    @Test("What is refused is refused with line, column and cause, and nothing of its text")
    func refusal() async throws {
        let text = "<!DOCTYPE rss [\n <!ENTITY secret SYSTEM 'file:///etc/passwd'>]><rss>&secret;</rss>"
        let error = await #expect(throws: VaultError.self) { _ = try await Self.report(Array(text.utf8)) }
        #expect(error?.message.contains("line 2, column 2: the document type defines an entity") == true)
        #expect(error?.message.contains("secret") == false)
    }
}
