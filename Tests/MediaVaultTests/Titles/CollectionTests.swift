import Foundation
import OriginTestSupport
import Testing
import VaultModel

@testable import MediaVault

@Suite("Collections", .timeLimit(.minutes(5)))
struct CollectionTests {
    private let fixture: VaultFixture
    private let vault: Vault

    init() async throws {
        fixture = try await VaultFixture(ScriptedResource(length: 1000))
        vault = try await fixture.open()
    }

    /// Fetches a file, and returns its title's id.
    @discardableResult
    private func add(_ path: String, to vault: Vault? = nil) async throws -> TitleID {
        let vault = vault ?? self.vault
        for try await _ in vault.download(fixture.origin.url(path)) {}
        return try #require(try await vault.titles.summary(of: fixture.origin.url(path))?.id)
    }

    /// Waits until a title is shared, as it is once the vault has followed its change.
    private func waitUntilShared(_ title: TitleID, with viewer: ViewerID, in vault: Vault) async throws {
        while !vault.viewers.isShared(title, with: viewer) { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Returns the only collection.
    private func only() async throws -> TitleCollection {
        let all = try await vault.collections.all()
        #expect(all.count == 1)
        return try #require(all.first)
    }

    @Test("Numbered files of one folder stand together in their order, and others do not")
    func folder() async throws {
        for path in ["/Aurora/10%20-%20Ten.mp4", "/Aurora/02%20-%20Two.mp4", "/Aurora/01%20-%20One.mp4"] {
            try await add(path)
        }
        for path in [
            "/films/a.mp4", "/films/b.mp4", "/other/01%20-%20One.mp4", "/01%20-%20One.mp4", "/02%20-%20Two.mp4",
        ] {
            try await add(path)
        }
        let found = try await only()
        #expect(found.name == "Aurora" && found.kind == .folder && found.isNamedByOrigin)
        #expect(found.titles.map(\.fallbackName) == ["One", "Two", "Ten"])
        await vault.close()
    }

    @Test("Episodes of a series stand together by season and episode, whatever their folders")
    func series() async throws {
        for name in ["s2/The.Harbour.S02E01", "s1/the.harbour.S01E10", "s1/The.Harbour.S01E09"] {
            try await add("/\(name).mp4")
        }
        let found = try await only()
        #expect(found.kind == .series && found.name?.lowercased() == "the harbour")
        #expect(found.titles.map { [$0.tags?.season, $0.tags?.episode] } == [[1, 9], [1, 10], [2, 1]])
        await vault.close()
    }

    @Test("Albums of one name in two folders are two, and discs of one are one")
    func albums() throws {
        func key(_ path: String) throws -> CollectionKey? {
            var tags = TitleTags()
            tags.album = "Greatest Hits"
            return CollectionKey(of: try summary(path, tags), in: nil)
        }
        let (one, other) = (try key("/anna/01.mp3"), try key("/berta/01.mp3"))
        #expect(one != nil && one != other)
        #expect(try key("/anna/CD1/01.mp3") == one && key("/anna/Disc%202/01.mp3") != nil)
        #expect(try key("/anna/disc2/01.mp3") == one)
    }

    private func summary(_ path: String, _ tags: TitleTags) throws -> ResourceSummary {
        let text = """
            {"accessed":"2026-11-23T22:00:00Z","added":"2026-11-23T22:00:00Z","bytes":1,"class":"download",
            "collection":null,"collectionName":null,"contentID":null,"cover":null,"duration":null,"etag":null,
            "expires":null,"fallbackName":null,"generation":1,"held":[],"id":null,"mode":null,"name":null,"part":false,"subtitles":[],
            "partBytes":null,"size":null,"tags":null,"title":null,"type":null,"url":"https://media.example\(path)"}
            """
        var summary = try JSONDecoder().decode(ResourceSummary.self, from: Data(text.utf8))
        summary.tags = tags
        return summary
    }

    @Test("A collection that the owner names keeps its name for titles that come later")
    func rename() async throws {
        try await add("/Aurora/01%20-%20One.mp4")
        try await add("/Aurora/02%20-%20Two.mp4")
        try await vault.collections.rename(only().id, to: "Northern Lights")
        try await add("/Aurora/03%20-%20Three.mp4")
        let named = try await only()
        #expect(named.name == "Northern Lights" && !named.isNamedByOrigin && named.titles.count == 3)
        try await vault.collections.rename(named.id, to: "")
        #expect(try await only().name == "Aurora")
        await vault.close()
    }

    @Test("Files that are only numbered stand together, and the folder of a season is named with its series")
    func seasons() async throws {
        for path in ["/The%20Quay/Season%202/10.mp4", "/The%20Quay/Season%202/9.mp4"] { try await add(path) }
        let found = try await only()
        #expect(found.name == "The Quay, Season 2" && found.titles.map(\.tags?.track) == [9, 10])
        await vault.close()
    }

    @Test("Titles that the owner moves together are a collection until they are moved back")
    func move() async throws {
        let (one, other) = (try await add("/a/x.mp4"), try await add("/b/y.mp4"))
        try await vault.collections.move([one, other], to: "For the trip")
        let found = try await only()
        #expect(found.kind == .own && Set(found.titles.map(\.id)) == [one, other])
        let refused = await #expect(throws: VaultError.self) { try await vault.collections.rename(found.id, to: nil) }
        #expect(refused?.code == .invalidArgument)
        try await vault.collections.move([one, other], to: nil)
        #expect(try await vault.collections.all().isEmpty)
        await vault.close()
    }

    @Test("A shared collection is shared with what joins it, also after a restart, and ends with one act")
    func share() async throws {
        let first = try await add("/Aurora/01%20-%20One.mp4")
        try await add("/Aurora/02%20-%20Two.mp4")
        let film = try await add("/films/a.mp4")
        let (anna, berta) = (try await vault.viewers.add("Anna"), try await vault.viewers.add("Berta"))
        let id = try await only().id
        #expect(try await vault.collections.share(id, with: anna.id, isShared: true) == 1)
        #expect(try await vault.collections.share(id, with: anna.id, isShared: true) == 0)
        #expect(vault.viewers.isShared(first, with: anna.id) && !vault.viewers.isShared(first, with: berta.id))
        #expect(!vault.viewers.isShared(film, with: anna.id))
        let third = try await add("/Aurora/03%20-%20Three.mp4")
        try await waitUntilShared(third, with: anna.id, in: vault)
        await vault.close()

        let again = try await fixture.open()
        #expect(again.viewers.isShared(third, with: anna.id) && !again.viewers.isShared(film, with: anna.id))
        #expect(try await again.collections.all(sharedWith: anna.id).map(\.titles.count) == [3])
        #expect(try await again.collections.all(sharedWith: berta.id).isEmpty)
        let fourth = try await add("/Aurora/04%20-%20Four.mp4", to: again)
        try await waitUntilShared(fourth, with: anna.id, in: again)
        let single = await #expect(throws: VaultError.self) { try await again.viewers.unshare([fourth], from: anna.id) }
        #expect(single?.code == .inUse)
        #expect(try await again.collections.share(id, with: nil, isShared: false) == 1)
        #expect(!again.viewers.isShared(first, with: anna.id) && again.viewers.titles(sharedWith: anna.id) == [])
        await again.close()
    }

    /// Waits until a title is as a rule demands, as it is once the vault has followed its change.
    private func waitUntilPinned(_ title: TitleID, _ mode: VaultMode?, in vault: Vault) async throws {
        while true {
            await vault.runPeriodicWork(now: .now)
            let summary = try await vault.titles.summary(of: vault.titles.reference(of: title))
            if summary?.resourceClass == "pinned", summary?.mode == mode { return }
        }
    }

    private func summary(of title: TitleID, in vault: Vault) async throws -> ResourceSummary {
        try #require(try await vault.titles.summary(of: vault.titles.reference(of: title)))
    }

    @Test("A pinned collection pins what joins it, also after a restart, and keeps its mode and its rule when renamed")
    func rule() async throws {
        let first = try await add("/Aurora/01%20-%20One.mp4")
        try await add("/Aurora/02%20-%20Two.mp4")
        let film = try await add("/films/a.mp4")
        try await vault.collections.setRule(of: only().id, isPinned: true, mode: .some(.preferVault))
        #expect(try await summary(of: first, in: vault).resourceClass == "pinned")
        let third = try await add("/Aurora/03%20-%20Three.mp4")
        try await waitUntilPinned(third, .preferVault, in: vault)
        await vault.close()

        let again = try await fixture.open()
        let fourth = try await add("/Aurora/04%20-%20Four.mp4", to: again)
        try await waitUntilPinned(fourth, .preferVault, in: again)
        #expect(try await summary(of: film, in: again).resourceClass == "download")
        let reference = try await again.titles.reference(of: fourth)
        let unpinned = await #expect(throws: VaultError.self) { try await again.titles.unpin(reference) }
        let ownMode = await #expect(throws: VaultError.self) { try await again.titles.setMode(nil, for: reference) }
        #expect(unpinned?.code == .inUse && ownMode?.code == .inUse)

        let id = try #require(try await again.collections.all().first?.id)
        try await again.collections.setRule(of: id, isPinned: false)
        #expect(try await summary(of: fourth, in: again).resourceClass == "download")
        #expect(try await again.collections.rule(of: again.collections.find(id)) == CollectionRule(mode: .preferVault))
        try await again.collections.setRule(of: id, mode: .some(nil))
        #expect(try await summary(of: first, in: again).mode == nil)
        try await again.titles.setMode(.offline, for: reference)
        await again.close()
    }

    @Test("The rule of a collection goes with its name, and ends with its last title")
    func renamedRule() async throws {
        let (one, other) = (try await add("/a/x.mp4"), try await add("/b/y.mp4"))
        try await vault.collections.move([one], to: "Trip")
        try await vault.collections.setRule(of: only().id, isPinned: true)
        try await vault.collections.rename(only().id, to: "Journey")
        try await vault.collections.move([other], to: "Journey")
        try await waitUntilPinned(other, nil, in: vault)
        #expect(try await vault.collections.rule(of: only()).isPinned)
        try await vault.collections.move([one, other], to: nil)
        try await vault.titles.unpin(vault.titles.reference(of: other))
        try await vault.collections.move([other], to: "Journey")
        #expect(try await !vault.collections.rule(of: only()).isPinned)
        await vault.close()
    }

    @Test("What a collection has ends when the vault is opened without a title of it, although that was not recorded")
    func unrecordedEnd() async throws {
        try await add("/Aurora/01%20-%20One.mp4")
        try await add("/Aurora/02%20-%20Two.mp4")
        let anna = try await vault.viewers.add("Anna")
        try await vault.collections.setRule(of: only().id, isPinned: true)
        let gone = CollectionKey(kind: .own, text: "gone").mark
        try vault.viewers.marks.rules.change(in: vault.titles.store) { $0[gone] = CollectionRule(isPinned: true) }
        try await vault.viewers.share(gone, with: anna.id, isShared: true)
        await vault.close()
        let again = try await fixture.open()
        try again.viewers.followResources()
        #expect(again.viewers.viewers(of: gone).isEmpty && again.viewers.marks.rules[gone].isEmpty)
        #expect(try await again.collections.rule(of: again.collections.all()[0]).isPinned)
        await again.close()
    }

    @Test("A title that leaves a shared collection, or the vault, is no longer shared")
    func leave() async throws {
        let (first, second) = (try await add("/Aurora/01%20-%20One.mp4"), try await add("/Aurora/02%20-%20Two.mp4"))
        let anna = try await vault.viewers.add("Anna")
        try await vault.collections.share(only().id, with: anna.id, isShared: true)
        try await vault.titles.remove(MediaReference(fixture.origin.url("/Aurora/02%20-%20Two.mp4")))
        #expect(!vault.viewers.isShared(second, with: anna.id))
        try await vault.collections.move([first], to: "Mine")
        while vault.viewers.isShared(first, with: anna.id) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(vault.viewers.titles(sharedWith: anna.id) == [])
        await vault.close()
    }

    @Test("The sharing of a collection can be ended when one title is left, and ends with the last one")
    func last() async throws {
        let first = try await add("/Aurora/01%20-%20One.mp4")
        try await add("/Aurora/02%20-%20Two.mp4")
        let anna = try await vault.viewers.add("Anna")
        try await vault.collections.share(only().id, with: anna.id, isShared: true)
        try await vault.titles.remove(MediaReference(fixture.origin.url("/Aurora/02%20-%20Two.mp4")))
        #expect(vault.viewers.isShared(first, with: anna.id))
        try await vault.collections.share(only().id, with: anna.id, isShared: false)
        #expect(!vault.viewers.isShared(first, with: anna.id))
        #expect(try await vault.collections.all().isEmpty)

        try await vault.collections.move([first], to: "Trip")
        try await vault.collections.share(only().id, with: anna.id, isShared: true)
        try await vault.collections.move([first], to: nil)
        #expect(vault.viewers.viewer(anna.id)?.collectionCount == 0)
        try await vault.collections.move([first], to: "Trip")
        #expect(!vault.viewers.isShared(first, with: anna.id))
        await vault.close()
    }

    @Test("A collection does not take the name of another one, whose titles its viewers would see")
    func taken() async throws {
        let (one, other) = (try await add("/a/x.mp4"), try await add("/b/y.mp4"))
        try await vault.collections.move([one], to: "Kids")
        try await vault.collections.move([other], to: "Adults")
        let kids = try #require(try await vault.collections.all().first { $0.name == "Kids" })
        let error = await #expect(throws: VaultError.self) { try await vault.collections.rename(kids.id, to: "ADULTS") }
        #expect(error?.code == .inUse)
        try await vault.collections.rename(kids.id, to: "kids")
        #expect(try await vault.collections.all().compactMap(\.name).sorted() == ["Adults", "kids"])
        await vault.close()
    }

    @Test("A feed that is shared is shared with what it brings later, and no longer once it is not followed")
    func feed() async throws {
        let texts = Locked<String>("")
        fixture.origin.answer { [resource = fixture.resource] request in
            guard request.target.hasPrefix("/feed") else { return resource.answer(to: request) }
            let bytes = Array(texts.withLock(\.self).utf8)
            return ScriptedAnswer(200, fields: ["Content-Length": "\(bytes.count)"], body: [.bytes(bytes)])
        }
        func sync(_ names: String...) async throws {
            let items = names.map { #"{"url": "/\#($0).mp4", "id": "\#($0)"}"# }
            texts.withLock { $0 = "[\(items.joined(separator: ","))]" }
            let source = MediaSubscription.Source.feed(fixture.origin.url("/feed").absoluteString)
            let report = try await vault.subscriptions.sync(source, MediaSubscription.Choices())
            for (_, entry) in report.fetch { for try await _ in vault.download(entry.reference) {} }
        }
        func id(_ name: String) async throws -> TitleID {
            try #require(try await vault.titles.summary(of: fixture.origin.url("/\(name).mp4"))?.id)
        }
        try await sync("one")
        let anna = try await vault.viewers.add("Anna")
        let found = try await only()
        #expect(found.kind == .feed)
        try await vault.collections.share(found.id, with: anna.id, isShared: true)
        try await sync("one", "two")
        try await waitUntilShared(id("two"), with: anna.id, in: vault)
        let subscription = try #require(try await vault.subscriptions.all().subscriptions.first)
        _ = try await vault.subscriptions.remove(subscription.shortID, removesTitles: false)
        let first = try await id("one")
        while vault.viewers.isShared(first, with: anna.id) { try await Task.sleep(for: .milliseconds(5)) }
        #expect(vault.viewers.titles(sharedWith: anna.id) == [])
        await vault.close()
    }

    @Test("A collection that is renamed by its owner stays shared with the same viewers")
    func renameShared() async throws {
        let title = try await add("/a/x.mp4")
        try await vault.collections.move([title], to: "For the trip")
        let anna = try await vault.viewers.add("Anna")
        try await vault.collections.share(only().id, with: anna.id, isShared: true)
        try await vault.collections.rename(only().id, to: "Summer")
        let named = try await only()
        #expect(named.name == "Summer" && vault.collections.viewers(of: named) == [anna.id])
        try await waitUntilShared(title, with: anna.id, in: vault)
        await vault.close()
    }
}
