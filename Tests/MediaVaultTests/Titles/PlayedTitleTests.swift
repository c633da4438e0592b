import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault
@testable import VaultCache
@testable import VaultStorage

@Suite("What is played of a title is stored as its parts", .timeLimit(.minutes(2)))
struct PlayedTitleTests {
    private let fixture: VaultFixture
    private let master: MediaURL
    private let kept = KeptTitles { $0 }

    init() async throws { (fixture, master) = try await TitleFixture.fixture() }

    private func url(_ path: String) -> MediaURL { fixture.origin.url(path) }

    private func segment(_ name: String) -> MediaURL { url("/\(name).ts?token=secret") }

    /// Opens the vault, and closes it afterwards.
    private func run(_ body: (Vault) async throws -> Void) async throws {
        let vault = try await fixture.open()
        kept.forget()
        try await body(vault)
        await vault.close()
    }

    /// Requests a link as a player does, to its end.
    ///
    /// - Returns: the links of its lines, if it is a manifest.
    @discardableResult
    private func play(_ target: String, _ vault: Vault) async throws -> [String] {
        let admission = try #require(vault.playback.admission(ofTarget: target, now: vault.store.index.now()))
        let resource = try #require(admission.resource)
        guard target.contains(".m3u8") else {
            for try await _ in try await vault.playback.read(resource, range: .whole) {}
            return []
        }
        let manifest = try #require(try await vault.playback.manifest(resource, through: admission, at: ""))
        let folder = String(try target.prefix(through: #require(target.lastIndex(of: "/"))))
        return String(decoding: manifest.text.bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .filter { !$0.hasPrefix("#") }.map { $0.hasPrefix("/") ? String($0) : folder + String($0) }
    }

    /// Plays the first segments of a picture from the title's own link.
    private func playTitle(in vault: Vault, _ picture: String = "480", segments: Int = 2) async throws {
        let lists = try await play(vault.tokens.playbackPath(for: master, expires: 4_000_000_000), vault)
        let list = try #require(lists.first { $0.hasSuffix("/\(picture).m3u8") })
        for link in try await play(list, vault).prefix(segments) { try await play(link, vault) }
    }

    /// Returns the titles, once those that are kept in memory are the same: what was just played may become durable
    /// between the two.
    private func listed(_ vault: Vault) async throws -> [ResourceSummary] {
        while true {
            let titles = try await vault.titles.list().reduce(into: [ResourceSummary]()) { $0.append($1) }
            let listing = try await kept.listing(of: vault, isFirst: false)
            if Set(listing.titles.map(\.kept)) == Set(titles) { return titles }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func classes(_ vault: Vault) async throws -> Set<String> {
        try await vault.titles.resources().reduce(into: []) { $0.insert($1.resourceClass) }
    }

    @Test("An app gets a manifest whose links lead back to it, and each link opens its own part")
    func manifestForApp() async throws {
        try await run { vault in
            let target = try await vault.access.playbackPath(for: MediaReference(master), expires: 4_000_000_000)
            let manifest = try #require(try await vault.playback.manifest(ofTarget: target, at: "vault://player"))
            let lines = String(decoding: manifest.text.bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            let links = lines.filter { !$0.hasPrefix("#") }.map(String.init)
            #expect(!links.isEmpty && !links.contains { $0.contains(master.host) && !$0.hasPrefix("/media/") })
            let folder = String(try target.prefix(through: #require(target.lastIndex(of: "/"))))
            let link = try #require(links.first { $0.hasSuffix("480.m3u8") })
            let list = link.hasPrefix("/") ? link : folder + link
            let second = try #require(try await vault.playback.manifest(ofTarget: list, at: "vault://player"))
            let names = String(decoding: second.text.bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            let name = try #require(names.first { $0.contains("480-1.ts") }).description
            let part =
                name.hasPrefix("/") ? name : String(try list.prefix(through: #require(list.lastIndex(of: "/")))) + name
            #expect(try await vault.playback.manifest(ofTarget: part, at: "vault://player") == nil, "it is media")
            let bytes = try await vault.playback.read(ofTarget: part).reduce(into: 0) { $0 += $1.count }
            #expect(Int64(bytes) == TitleFixture.segmentBytes)
            _ = try await vault.titles.remove(MediaReference(master))
            for removed in [target, list, part] {
                await #expect(throws: VaultError.self) { try await vault.playback.read(ofTarget: removed) }
            }
            #expect(try await listed(vault).isEmpty, "a link does not bring a removed title back")
            for place in ["", "vault", "vault://", "vault://player/", "vault://a b", "//player"] {
                await #expect(throws: VaultError.self) {
                    try await vault.playback.manifest(ofTarget: target, at: place)
                }
            }
            let changed = target.replacing("/media/", with: "/media/A")
            await #expect(throws: VaultError.self) {
                try await vault.playback.manifest(ofTarget: changed, at: "vault://player")
            }
        }
    }

    @Test("A playback link to media is no manifest for an app either")
    func noManifestForApp() async throws {
        try await run { vault in
            let target = vault.tokens.playbackPath(for: segment("480-1"), expires: 4_000_000_000)
            let manifest = try await vault.playback.manifest(ofTarget: target, at: "vault://player")
            #expect(manifest == nil)
        }
    }

    @Test("A title that was only played is listed once, with all that is held of it, and is removed whole")
    func grouped() async throws {
        try await run { vault in
            #expect(try await listed(vault).isEmpty)
            try await playTitle(in: vault)
            #expect(try await listed(vault).map(\.url) == [master.absoluteString])
        }
        // All of it is durable now.
        try await run { vault in
            let titles = try await listed(vault)
            #expect(titles.map(\.url) == [master.absoluteString])
            let list = Int64(TitleFixture.list("480").utf8.count)
            #expect(titles.first?.partBytes == list + 2 * TitleFixture.segmentBytes)
            #expect(titles.first?.title == nil && titles.first?.isPart == false)
            let parts = try await vault.titles.resources().reduce(into: [String]()) {
                if $1.isPart { $0.append($1.url) }
            }
            #expect(Set(parts) == Set([url("/480.m3u8"), segment("480-1"), segment("480-2")].map(\.absoluteString)))
            try await vault.titles.remove(MediaReference(master))
            #expect(try await vault.titles.resources().reduce(into: 0) { count, _ in count += 1 } == 0)
        }
    }

    @Test("What is played of a title later counts to what is held of it, also of one that is kept in memory")
    func playedLater() async throws {
        let list = Int64(TitleFixture.list("480").utf8.count)
        try await run { vault in
            for segments in 1...2 {
                try await playTitle(in: vault, segments: segments)
                let bytes = list + Int64(segments) * TitleFixture.segmentBytes
                while try await listed(vault).first?.partBytes != bytes { try await Task.sleep(for: .milliseconds(5)) }
                // The title itself is noted as played once an hour, and not again.
                await vault.runPeriodicWork(now: .now)
                _ = try await listed(vault)
            }
        }
    }

    @Test("A file that is played by a link of its own stays a title of its own, also if a manifest names it")
    func named() async throws {
        try await run { vault in
            try await playTitle(in: vault)
            try await play(vault.tokens.playbackPath(for: segment("480-3"), expires: 4_000_000_000), vault)
            let urls = try await listed(vault).map(\.url)
            #expect(Set(urls) == [master.absoluteString, segment("480-3").absoluteString])
        }
    }

    @Test("What a broadcast brings belongs to no title")
    func live() async throws {
        fixture.origin.answer { TitleFixture.answer(to: $0, live: "480") }
        try await run { vault in
            try await playTitle(in: vault, segments: 1)
            #expect(try await listed(vault).map(\.url).contains(segment("480-1").absoluteString))
        }
    }

    @Test("A title that was only played is pinned with what is held of it, and let go with it")
    func pinned() async throws {
        try await run { vault in
            try await playTitle(in: vault)
            try await vault.titles.pin(MediaReference(master))
            #expect(try await classes(vault) == ["pinned"])
            try await vault.titles.unpin(MediaReference(master))
            #expect(try await classes(vault) == ["cache"])
        }
    }

    @Test("Limits spare a title while it is played, and evict it whole later")
    func evicted() async throws {
        try await run { vault in
            try await playTitle(in: vault)
            #expect(try await listed(vault).count == 1)
            let limits = StorageLimits(maxSize: try await vault.status().used - 1)
            _ = try await vault.space.prune(limits)
            #expect(try await vault.titles.resources().reduce(into: 0) { count, _ in count += 1 } == 4)
        }
        try await run { vault in
            #expect(try await listed(vault).count == 1)
            _ = try await vault.space.prune(StorageLimits(maxSize: try await vault.status().used - 1))
            #expect(try await listed(vault).isEmpty)
            #expect(try await vault.titles.resources().reduce(into: 0) { count, _ in count += 1 } == 0)
        }
    }

    @Test("What is played of a fetched title beside its choice belongs to it, and neither keeps nor breaks it")
    func beside() async throws {
        func isComplete(_ vault: Vault) async throws -> Bool? {
            try await vault.titles.summary(of: MediaReference(master))?.title?.isComplete
        }
        try await run { vault in
            try await TitleFixture.download(master, into: vault)
            #expect(try await isComplete(vault) == true, "premise")
            try await playTitle(in: vault, "1080", segments: 1)
            #expect(try await listed(vault).map(\.url) == [master.absoluteString])
            #expect(try await vault.titles.summary(of: MediaReference(segment("1080-1")))?.resourceClass == "cache")
            try vault.store.index.completeness.recount(doubting: true)
            #expect(try await isComplete(vault) == true)
            try await vault.titles.pin(MediaReference(master))
            #expect(try await vault.titles.summary(of: MediaReference(segment("1080-1")))?.resourceClass == "cache")
        }
        try await run { vault in
            let used = try await vault.status().used
            _ = try await listed(vault)
            _ = try await vault.space.prune(StorageLimits(maxSize: used - TitleFixture.segmentBytes))
            let left = try await vault.titles.resources().reduce(into: [String]()) { $0.append($1.url) }
            #expect(!left.contains(segment("1080-1").absoluteString), "the first to go")
            _ = try await listed(vault)
            #expect(try await isComplete(vault) == true)
            try vault.store.index.completeness.recount(doubting: true)
            #expect(try await isComplete(vault) == true)
        }
    }

    @Test("A title that was played before is fetched whole, with what is held of it")
    func fetchedLater() async throws {
        try await run { vault in
            try await playTitle(in: vault)
            try await TitleFixture.download(master, into: vault)
            let titles = try await listed(vault)
            #expect(titles.map(\.url) == [master.absoluteString])
            #expect(titles.first?.title?.isComplete == true && titles.first?.partBytes == nil)
            #expect(try await !classes(vault).contains("cache"))
            #expect(fixture.origin.exchanges.filter { $0.request.target == "/480-1.ts?token=secret" }.count == 1)
        }
    }

    @Test("A bounded number of manifests and of what they name is remembered, the latest used ones")
    func bounded() throws {
        let parts = PartOwners(maxURLs: 100)
        func id(_ number: Int) throws -> ResourceID {
            try #require(ResourceID(bytes: Array(repeating: UInt8(number), count: 32)))
        }
        func names(_ urls: some Sequence<MediaURL>) -> PartOwners.Names {
            urls.reduce(into: PartOwners.Names()) { $0.insert($1) }
        }
        let urls = (0..<200).map { url("/\($0).ts") }
        for number in 0..<64 { parts.note(try id(number), of: [[UInt8(number)]], names([urls[number]])) }
        #expect(parts.titles(naming: urls[0]) == [[0]], "used now")
        parts.note(try id(64), of: [[64]], names([urls[64]]))
        #expect([0, 1, 64].map { parts.titles(naming: urls[$0]) } == [[[0]], [], [[64]]])
        parts.note(try id(70), of: [[70]], names(urls[100..<200]))
        #expect(parts.titles(naming: urls[64]).isEmpty, "a large manifest takes all the space")
        #expect(parts.titles(naming: urls[150]) == [[70]])
        parts.note(try id(71), of: [[71]], names(urls[99..<200]))
        #expect(parts.titles(naming: urls[99]).isEmpty && parts.titles(naming: urls[150]) == [[70]], "too large")
        parts.removeAll()
        #expect(parts.titles(naming: urls[150]).isEmpty)
    }

    @Test("A template names what begins as it does, and nothing else")
    func templates() {
        var names = PartOwners.Names()
        names.insert(url("/film/video/"), isFolder: true)
        names.insert(url("/film/init.mp4"))
        let named = ["/film/video/1.m4s", "/film/video/deep/2.m4s?a", "/film/init.mp4"]
        let others = ["/film/audio/1.m4s", "/film/init.mp4?a", "/film/video"]
        #expect(named.allSatisfy { names.contain(url($0)) })
        #expect(!others.contains { names.contain(url($0)) })
    }
}
