import Foundation
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultStorage

@Suite("Subtitles that are added to titles", .timeLimit(.minutes(5)))
struct SubtitleTests {
    private static let english = Array("1\n00:00:01,000 --> 00:00:02,500\nTom & Jerry\n".utf8)
    private static let german = Array("WEBVTT\n\n00:01.000 --> 00:02.500\nGuten Tag\n".utf8)

    @Test(
        "SubRip and WebVTT become WebVTT that has nothing but cues",
        arguments: [
            (
                "\u{FEFF}1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Tom</i> & Jerry\r\nrun\r\n\r\n2\r\n"
                    + "01:02:03,004 --> 01:02:04,000\r\nend\r\n",
                "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\n<i>Tom</i> &amp; Jerry\nrun\n\n01:02:03.004 --> 01:02:04.000\nend\n"
            ),
            (
                "WEBVTT a title\nX: y\n\nSTYLE\n::cue { background: url(https://trap.example/) }\n\nREGION\nid:r\n\n"
                    + "NOTE a note\n\nid\n00:01.000 --> 100:00:02.500 region:r align:start line:-1 size:url(x)\na &amp; b\n",
                "WEBVTT\n\n00:00:01.000 --> 100:00:02.500 align:start line:-1\na &amp; b\n"
            ),
            (
                "00:00:02,000 --> 00:00:02,000\nnever\n\n00:00:01,000 --> 00:00:02,000\n \n00:00:03,000 --> 00:00:04,000\na",
                "WEBVTT\n\n00:00:03.000 --> 00:00:04.000\na\n"
            ),
        ])
    func converted(file: String, expected: String) throws {
        let written = try SubtitleText.webVTT(Array(file.utf8))
        #expect(String(decoding: written, as: UTF8.self) == expected)
        #expect(try SubtitleText.webVTT(written) == written, "it is its own form")
    }

    @Test(
        "What is no subtitles is refused with its reason",
        arguments: [
            ([], "0 bytes"), (Array(repeating: 65, count: SubtitleText.maxBytes + 1), "2097153 bytes"),
            (Array("<html></html>".utf8), "none in the file"), (Array("WEBVTT\n".utf8), "none in the file"),
            ([0xFF, 0xFE] + english, "UTF-8"), (english + [0], "no text has"), (english + [0x1B], "no text has"),
            (Array("1\n00:00:61,000 --> 00:01:02,000\na".utf8), "line 2 is not a time"),
            (Array("1\n99999999999999999999:00:00,000 --> 00:00:01,000\na".utf8), "line 2 is not a time"),
            (Array("<!-- a -->".utf8), "line 1 is not a time"), (Array("-->".utf8), "line 1 is not a time"),
            (Array("00:00:01,000 --> 00:00:02,000\n\(String(repeating: "a", count: 4001))".utf8), "longer than 4000"),
            (Array(String(repeating: "00:01.000 --> 00:02.000\na\n\n", count: 20_001).utf8), "too many"),
            (
                Array("00:01.000 --> 00:02.000\n\(String(repeating: "&", count: 3900))\n\n".utf8).repeated(500),
                "too many"
            ),
        ] as [([UInt8], String)])
    func refused(file: [UInt8], reason: String) {
        let error = #expect(throws: VaultError.self) { try SubtitleText.webVTT(file) }
        #expect(error?.code == .invalidArgument && error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    /// Returns how many resources the vault has, parts included.
    private func resources(of vault: Vault) async throws -> Int {
        var count = 0
        for try await _ in vault.titles.resources() { count += 1 }
        return count
    }

    @Test("They are sealed, listed by language, replaced and removed, survive a new locator, and go with the title")
    func kept() async throws {
        let (fixture, first) = try await VaultFixture.filled(ScriptedResource(seed: 1, length: 200_000))
        var vault = first
        let film = MediaReference(fixture.url)
        try await vault.titles.addSubtitles(Self.english, in: "en", of: film)
        try await vault.titles.addSubtitles(Self.english, in: "de", of: film)
        try await vault.titles.addSubtitles(Self.german, in: "de", of: film)
        #expect(try await vault.titles.summary(of: film)?.subtitles == ["de", "en"])
        let german = try SubtitleText.webVTT(Self.german)
        #expect(try await vault.titles.subtitles(in: "de", of: film) == german)
        #expect(try await vault.titles.subtitles(in: "fr", of: film) == nil)
        var listed = 0
        for try await page in vault.titles.list() { listed += page.id == nil ? 0 : 1 }
        #expect(listed == 1)
        #expect(try await resources(of: vault) == 3)
        for file in fixture.segmentFiles {
            #expect(try Data(contentsOf: file).firstRange(of: Data("Guten".utf8)) == nil)
        }
        try await vault.titles.pin(film)
        _ = try await vault.keys.changeLocator()
        #expect(try await vault.titles.subtitles(in: "de", of: film) == german)
        for try await step in vault.checks.verify() where step.report != nil { #expect(step.report?.isSound == true) }
        await vault.close()
        vault = try await fixture.open()
        #expect(try await vault.titles.subtitles(in: "de", of: film) == german)
        try await vault.titles.removeSubtitles(in: "de", of: film)
        #expect(try await vault.titles.subtitles(in: "de", of: film) == nil)
        let error = await #expect(throws: VaultError.self) {
            try await vault.titles.removeSubtitles(in: "de", of: film)
        }
        #expect(error?.code == .notHeld)
        #expect(try await resources(of: vault) == 2)
        try await vault.titles.remove(film)
        #expect(fixture.segmentFiles.isEmpty)
        #expect(try await resources(of: vault) == 0)
        await vault.close()
    }

    @Test("A title of several resources stays whole when its added subtitles go; an unknown title gets none")
    func ofPlaylist() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        let title = MediaReference(url)
        try await vault.titles.addSubtitles(Self.german, in: "de", of: title)
        try await vault.titles.addSubtitles(Self.german, in: "en", of: title)
        try await vault.titles.removeSubtitles(in: "de", of: title)
        let summary = try await vault.titles.summary(of: title)
        #expect(summary?.isWhole == true && summary?.subtitles == ["en"])
        let error = await #expect(throws: VaultError.self) {
            try await vault.titles.addSubtitles(Self.german, in: "de", of: MediaReference(fixture.url))
        }
        #expect(error?.code == .notHeld)
        for odd in ["", "de/", "..", String(repeating: "a", count: 36)] {
            let error = await #expect(throws: VaultError.self) {
                try await vault.titles.addSubtitles(Self.german, in: odd, of: title)
            }
            #expect(error?.code == .invalidArgument)
        }
        await vault.close()
    }

    @Test("A title has the languages of the vault if a download names none, and says which others there are")
    func languages() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        let usual = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(usual.renditions.filter { $0.kind == .audio }.map(\.language) == ["en"] && usual.otherAudio == ["de"])
        var settings = try await vault.settings.downloads()
        try settings.setLanguages(["de", "fr"])
        try await vault.settings.setDownloads(settings)
        try await TitleFixture.download(url, into: vault)
        let own = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(own.renditions.filter { $0.kind == .audio }.map(\.language) == ["de"] && own.otherAudio == ["en"])
        #expect(own.selection.audio == .languages(["de", "fr"]) && own.isComplete)
        let named = RenditionSelection(video: .height(480), audio: .languages(["en"]), subtitles: .none)
        try await TitleFixture.download(url, into: vault, DownloadOptions(selection: named))
        #expect(try await vault.titles.summary(of: url)?.title?.selection == named)
        await vault.close()
    }
}

extension [UInt8] {
    fileprivate func repeated(_ count: Int) -> [UInt8] { Array(repeatElement(self, count: count).joined()) }
}
