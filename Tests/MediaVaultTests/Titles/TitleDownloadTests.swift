import Foundation
import MediaVault
import OriginTestSupport
import Testing
import VaultManifest
import VaultModel

@Suite("Whole titles", .timeLimit(.minutes(5)))
struct TitleDownloadTests {
    private static func requested(_ fixture: VaultFixture) -> Set<String> {
        Set(fixture.origin.exchanges.map { String($0.request.target.prefix { $0 != "?" }) })
    }

    private static func parts(in vault: Vault) async throws -> [ResourceSummary] {
        var parts: [ResourceSummary] = []
        for try await summary in vault.titles.resources() where summary.isPart { parts.append(summary) }
        return parts
    }

    /// Returns how many segments are held whole.
    private static func held(in vault: Vault, _ fixture: VaultFixture) async throws -> Int {
        var count = 0
        for path in TitleFixture.segments
        where try await vault.titles.summary(of: fixture.origin.url("\(path)?token=secret"))?.isComplete == true {
            count += 1
        }
        return count
    }

    @Test("The chosen renditions are fetched whole, and nothing else; a second time nothing is requested")
    func whole() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        let last = try #require(try await TitleFixture.download(url, into: vault))
        #expect(
            Self.requested(fixture) == [
                "/master.m3u8", "/480.m3u8", "/en.m3u8", "/480-1.ts", "/480-2.ts", "/480-3.ts", "/en-1.ts", "/en-2.ts",
                "/en-3.ts",
            ])
        #expect(last.isComplete && last.resources?.held == 9 && last.resources?.total == 9)
        let summary = try #require(try await vault.titles.summary(of: url))
        let title = try #require(summary.title)
        #expect(title.isComplete && summary.name == "A film" && title.duration == 12_000 && title.resources == 9)
        #expect(title.bytes == last.held && title.bytes > 6 * TitleFixture.segmentBytes)
        #expect(title.renditions.map(\.height).contains(480) && !title.renditions.map(\.height).contains(1080))
        #expect(!summary.isPart && summary.resourceClass == "download")
        let parts = try await Self.parts(in: vault)
        // Two playlists, and a pack of six segments.
        #expect(parts.count == 3 && parts.allSatisfy { $0.resourceClass == "download" })
        // Keys belong to resources, and people count titles.
        let use = try #require(try await vault.keys.report().generations.first)
        #expect(use.titles == 1 && use.resources == 4)
        #expect(try await vault.status().resources == use.titles)
        let count = fixture.origin.exchanges.count
        try await TitleFixture.download(url, into: vault)
        let again = fixture.origin.exchanges.dropFirst(count).map(\.request.target)
        #expect(again.allSatisfy { !$0.contains(".ts") }, "\(again)")
        await vault.close()
    }

    @Test("A title that was cut off continues with what is missing, after a restart, too")
    func resumed() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            var answer = TitleFixture.answer(to: request)
            if request.target.hasPrefix("/480-3.ts") { answer = ScriptedAnswer(503, fields: ["Content-Length": "0"]) }
            return answer
        }
        let vault = try await fixture.open()
        let one = DownloadOptions(connections: 1, selection: TitleFixture.small.selection)
        await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault, one) }
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(!title.isComplete && title.bytes > 0)
        await vault.close()
        let held = Self.requested(fixture)
        #expect(held.contains("/480-2.ts"))
        let count = fixture.origin.exchanges.count
        fixture.origin.answer { TitleFixture.answer(to: $0) }
        let later = try await fixture.open()
        try await TitleFixture.download(url, into: later, one)
        let again = fixture.origin.exchanges.dropFirst(count).map(\.request.target)
        #expect(again.contains { $0.hasPrefix("/480-3.ts") } && !again.contains { $0.hasPrefix("/480-2.ts") })
        #expect(try await later.titles.summary(of: url)?.title?.isComplete == true)
        await later.close()
    }

    @Test("If the origin lacks one segment, the others are kept, and the error names it without its query")
    func oneMissing() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { request in
            request.target.hasPrefix("/480-2.ts")
                ? ScriptedAnswer(404, fields: ["Content-Length": "0"]) : TitleFixture.answer(to: request)
        }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        #expect(error?.code == .refused && error?.originStatus == 404)
        #expect(error?.message.contains("1 of 6 parts") == true && error?.message.contains("/480-2.ts") == true)
        #expect(error?.message.contains("secret") == false)
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(!title.isComplete && title.bytes > 5 * TitleFixture.segmentBytes)
        #expect(try await Self.held(in: vault, fixture) == 5)
        await vault.close()
    }

    @Test("A segment at another, private authority is refused, the rest is fetched, and the error names the host")
    func derived() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let other = try ScriptedOrigin(ScriptedResource(length: 100))
        let hostile = "#EXTINF:4,\n\(other.url("/intranet.ts?token=secret").absoluteString)\n"
        fixture.origin.answer { TitleFixture.answer(to: $0, more: hostile) }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        #expect(error?.code == .invalidResponse && error?.message.contains("127.0.0.1:\(other.port)") == true)
        #expect(error?.message.contains("secret") == false)
        #expect(other.exchanges.isEmpty)
        #expect(try await Self.held(in: vault, fixture) == 6)
        await vault.close()
    }

    @Test("Credentials of the manifest go to its own origin, with every part", arguments: [true, false])
    func credentials(hasFields: Bool) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        let reference = MediaReference(url, fields: hasFields ? ["Authorization": "Bearer one"] : HeaderFields())
        for try await _ in vault.download(reference, options: TitleFixture.small) {}
        let sent = fixture.origin.exchanges.map { $0.request.fields["Authorization"] }
        #expect(sent.count >= 9 && sent.allSatisfy { $0 == (hasFields ? "Bearer one" : nil) })
        // They have the same names as the manifest, so they are removed with it.
        try await vault.titles.remove(reference)
        #expect(try await vault.status().resources == 0)
        await vault.close()
    }

    @Test("A live title is refused, and nothing of it stays", arguments: ["480", "en"])
    func live(list: String) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        fixture.origin.answer { TitleFixture.answer(to: $0, live: list) }
        let vault = try await fixture.open()
        let error = await #expect(throws: VaultError.self) { try await TitleFixture.download(url, into: vault) }
        #expect(error?.code == .invalidArgument && error?.message.contains("live") == true)
        #expect(!Self.requested(fixture).contains { $0.hasSuffix(".ts") })
        #expect(try await vault.titles.summary(of: url) == nil)
        await vault.close()
    }

    /// Returns how many renditions a player is offered, as lines of the manifest that it gets.
    private static func offered(_ url: MediaURL, by vault: Vault) async throws -> [String] {
        let target = vault.tokens.playbackPath(for: url, expires: .max)
        let admission = try #require(vault.playback.admission(ofTarget: target, now: 0))
        let resource = try #require(admission.resource)
        let manifest = try #require(
            try await vault.playback.manifest(resource, through: admission, at: "http://127.0.0.1:8300"))
        return String(decoding: manifest.text.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("#EXT-X-MEDIA:") || $0.hasPrefix("#EXT-X-STREAM-INF:") }
    }

    @Test(
        "While the origin cannot be asked, a player is offered only what is held, and everything otherwise",
        arguments: [VaultMode.online, .preferVault, .offline], [true, false])
    func offline(mode: VaultMode, isReachable: Bool) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let filling = try await fixture.open()
        try await TitleFixture.download(url, into: filling)
        await filling.close()
        if !isReachable { fixture.origin.stop() }
        let vault = try await fixture.open(mode: mode)
        let lines = try await Self.offered(url, by: vault)
        if mode == .online && isReachable {
            #expect(lines.count == 4)
        } else {
            #expect(lines.count == 2 && lines.contains { $0.contains("854x480") })
            #expect(lines.contains { $0.contains(#"LANGUAGE="en""#) })
        }
        // The origin may return, or go, while the vault is open.
        guard mode == .online, !isReachable else { return await vault.close() }
        try fixture.origin.start()
        await vault.close()
        let later = try await fixture.open()
        #expect(try await Self.offered(url, by: later).count == 4)
        await later.close()
    }

    @Test(
        "If the origin goes, or refuses, right after the fetch, a player is offered only what is held",
        arguments: [true, false])
    func goesAfterFetch(isGone: Bool) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        if isGone { fixture.origin.stop() } else { fixture.origin.answer { _ in ScriptedAnswer(403) } }
        let lines = try await Self.offered(url, by: vault)
        #expect(lines.count == 2 && lines.contains { $0.contains("854x480") })
        await vault.close()
    }

    @Test("Parts that an origin refuses to further connections are fetched over the one that it accepts")
    func refusedConnections() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let refusals = Locked(2)
        fixture.origin.answer { request in
            let isRefused =
                request.target.contains(".ts")
                && refusals.withLock { left in
                    left -= 1
                    return left >= 0
                }
            return isRefused ? ScriptedAnswer(403) : TitleFixture.answer(to: request)
        }
        let vault = try await fixture.open()
        let last = try await TitleFixture.download(url, into: vault, TitleFixture.small)
        #expect(refusals.withLock { $0 } < 0, "premise")
        #expect(last?.isComplete == true && last?.resources?.held == 9)
        await vault.close()
    }

    @Test("A title that is held as a whole is offered without a question to its origin")
    func asksNothing() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        let all = RenditionSelection(video: .all, audio: .all, subtitles: .all)
        try await TitleFixture.download(url, into: vault, DownloadOptions(connections: 3, selection: all))
        let count = fixture.origin.exchanges.count
        #expect(try await Self.offered(url, by: vault).count == 4)
        #expect(fixture.origin.exchanges.count == count)
        await vault.close()
    }

    @Test("Without a selection, the manifest alone is fetched")
    func alone() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        let last = try await TitleFixture.download(url, into: vault, DownloadOptions(selection: nil))
        #expect(last?.isComplete == true && Self.requested(fixture) == ["/master.m3u8"])
        #expect(try await vault.titles.summary(of: url)?.title == nil)
        await vault.close()
    }

    @Test("Pinning, unpinning and removing a title act on all its parts", arguments: [false, true])
    func acts(isRenamed: Bool) async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        let reference = MediaReference(url, fields: ["Authorization": "Bearer one"])
        for try await _ in vault.download(reference, options: TitleFixture.small) {}
        if isRenamed { _ = try await vault.keys.changeLocator() }
        try await vault.titles.pin(reference)
        #expect(try await Self.parts(in: vault).map(\.resourceClass) == Array(repeating: "pinned", count: 3))
        try await vault.titles.unpin(reference)
        #expect(try await Self.parts(in: vault).map(\.resourceClass) == Array(repeating: "download", count: 3))
        #expect(try await vault.titles.remove(reference) > 6 * TitleFixture.segmentBytes)
        let status = try await vault.status()
        #expect(status.resources == 0 && status.segments == 0)
        await vault.close()
    }

    @Test("What two titles share stays until the last of them is removed")
    func shared() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        let sound = fixture.origin.url("/en.m3u8")
        try await TitleFixture.download(url, into: vault)
        try await TitleFixture.download(sound, into: vault)
        try await vault.titles.remove(MediaReference(url))
        #expect(try await vault.status().resources == 1)
        #expect(try await vault.titles.summary(of: sound)?.isPart == false)
        fixture.origin.stop()
        #expect(try await Self.held(in: vault, fixture) == 3)
        try await vault.titles.remove(MediaReference(sound))
        #expect(try await vault.status().resources == 0)
        await vault.close()
    }

    @Test("What a pinned title shares stays pinned when the other one is unpinned")
    func pinnedTogether() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        let sound = fixture.origin.url("/en.m3u8")
        // A part that was played before stays a resource of its own, which both titles share.
        let shared = fixture.origin.url("/en-1.ts?token=secret")
        for try await _ in try await vault.read(shared) {}
        try await TitleFixture.download(url, into: vault)
        try await TitleFixture.download(sound, into: vault)
        for title in [url, sound] { try await vault.titles.pin(MediaReference(title)) }
        try await vault.titles.unpin(MediaReference(url))
        let parts = try await Self.parts(in: vault)
        // The shared file and the pack of the pinned title; the other playlist and the other pack.
        let pinned = parts.filter { $0.resourceClass == "pinned" }
        #expect(pinned.count == 2 && pinned.allSatisfy { $0.url.contains("/en") })
        #expect(parts.count == 4 && parts.filter { $0.resourceClass == "download" }.count == 2)
        await vault.close()
    }

    @Test("Verifying a title opens its parts and nothing else, and finds damage in one of them")
    func verified() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        try await TitleFixture.download(fixture.origin.url("/de-1.ts"), into: vault)
        func size(_ file: URL) -> Int { (try? file.resourceValues(forKeys: [.fileSizeKey]))?.fileSize ?? 0 }
        func report() async throws -> VerifyReport? {
            var report: VerifyReport?
            for try await step in vault.checks.verify(of: [MediaReference(url)]) { report = step.report ?? report }
            return report
        }
        let held = try #require(try await vault.titles.summary(of: url)?.title?.bytes)
        #expect(try await report()?.bytesOpened == held)
        #expect(try await report()?.isSound == true)
        // The largest file is the pack.
        let pack = try #require(fixture.segmentFiles.max { size($0) < size($1) })
        try fixture.change(pack.path) { $0[1000] ^= 1 }
        let damaged = try await report()
        #expect(damaged?.damage == [.block: 1] && damaged?.resources.map(\.url) == ["\(url)"])
        let error = await #expect(throws: VaultError.self) {
            for try await _ in vault.checks.verify(of: [MediaReference(fixture.origin.url("/unknown"))]) {}
        }
        #expect(error?.code == .notHeld)
        await vault.close()
    }

    @Test("The rows that link parts are as the parts name their titles, after a rebuild, too")
    func relinked() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        await vault.close()
        _ = try await Vault.rebuildIndex(fixture.place, unlock: fixture.unlock, evenIfSound: true) { _ in }
        let later = try await fixture.open()
        var listed: [String] = []
        for try await summary in later.titles.list() { listed.append(summary.url) }
        #expect(listed == [url.absoluteString])
        try await later.titles.remove(MediaReference(url))
        #expect(try await later.status().resources == 0)
        await later.close()
    }

    @Test("A name that is given stays until another is given", arguments: [true, false])
    func named(isManifest: Bool) async throws {
        let (fixture, master) = try await TitleFixture.fixture()
        let url = isManifest ? master : fixture.origin.url("/de-1.ts")
        let vault = try await fixture.open()
        func name(_ given: String?) async throws -> String? {
            try await TitleFixture.download(
                url, into: vault, DownloadOptions(selection: TitleFixture.small.selection, name: given))
            return try await vault.titles.summary(of: url)?.name
        }
        #expect(try await name(nil) == (isManifest ? "A film" : nil))
        #expect(try await name("Mine") == "Mine")
        #expect(try await name(nil) == "Mine")
        #expect(try await name("Yours") == "Yours")
        await vault.close()
    }

    @Test("Shredding a title leaves nothing of it, and one receipt")
    func shredded() async throws {
        let (fixture, url) = try await TitleFixture.fixture()
        let vault = try await fixture.open()
        try await TitleFixture.download(url, into: vault)
        let report = try await vault.keys.shred([MediaReference(url)])
        #expect(report.outcome == .destroyed && (report.titles[0].bytes ?? 0) > 6 * TitleFixture.segmentBytes)
        #expect(try await vault.status().resources == 0)
        #expect(try await vault.keys.audit().receipts.filter { $0.act == .shred }.count == 1)
        await vault.close()
    }

    @Test("A manifest that claims to play for ages is recorded so that it can be read again")
    func longest() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: 5000, contentType: "video/mp2t"))
        let part = fixture.resource
        let list = "#EXTM3U\n" + String(repeating: "#EXTINF:999999999,\n1.ts\n", count: 20_000) + "#EXT-X-ENDLIST\n"
        fixture.origin.answer { request in
            request.target.hasSuffix(".ts") ? part.answer(to: request) : TitleFixture.text(list, request)
        }
        let vault = try await fixture.open()
        let url = fixture.origin.url("/ages.m3u8")
        try await TitleFixture.download(url, into: vault, DownloadOptions())
        let title = try #require(try await vault.titles.summary(of: url)?.title)
        #expect(title.isComplete && (title.duration ?? 0) > 1 << 52)
        await vault.close()
    }
}
