import OriginTestSupport
import Testing
import VaultModel
import VaultStorage
import VaultTestSupport

@testable import MediaVault

@Suite("The download queue", .timeLimit(.minutes(5)))
struct DownloadQueueTests {
    private let length: Int64 = 300_000

    /// Returns an origin whose answers stop at a byte until a gate opens.
    private func held(by gate: Gate, at position: Int64) async throws -> VaultFixture {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            var answer = resource.answer(to: request)
            answer.insert(.hold(gate), at: position)
            return answer
        }
        return fixture
    }

    private func order(_ fixture: VaultFixture, _ name: String) -> (reference: MediaReference, options: DownloadOptions)
    {
        (MediaReference(fixture.origin.url("/\(name)")), DownloadOptions())
    }

    private func states(_ vault: Vault) async throws -> [DownloadSnapshot.State] {
        try await vault.queue.page(limit: 100).downloads.map(\.state)
    }

    @Test("What was queued by one owner is fetched by the next one that runs the queue, and leaves it")
    func restart() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let first = try await fixture.open()
        let queued = try await first.queue.add([order(fixture, "a"), order(fixture, "b")])
        #expect(queued.map(\.state) == [.waiting, .waiting])
        await first.close()
        #expect(fixture.origin.exchanges.isEmpty, "a queue that was not started fetches nothing")
        let vault = try await fixture.open()
        #expect(try await vault.queue.counts() == DownloadCounts(waiting: 2))
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        for (name, entry) in zip(["a", "b"], queued) {
            let summary = try await vault.titles.summary(of: fixture.origin.url("/\(name)"))
            #expect(summary?.isComplete == true && summary?.id == entry.title && summary?.resourceClass == "download")
        }
        #expect(vault.queue.ended.map(\.state) == [.done, .done])
        await vault.close()
        let again = try await fixture.open(.reader)
        #expect(try await again.queue.counts() == DownloadCounts())
        await again.close()
        #expect(fixture.bytesSent == 2 * length)
    }

    @Test("A download that is interrupted by the end of its vault continues where it stopped")
    func interrupted() async throws {
        let gate = Gate()
        let fixture = try await held(by: gate, at: 200_000)
        let first = try await fixture.open()
        first.queue.start()
        try await first.queue.add([order(fixture, "a")])
        try await first.waitUntilFetched(200_000)
        #expect(try await states(first) == [.running])
        await first.close()
        gate.open()
        fixture.origin.answer { [resource = fixture.resource] in resource.answer(to: $0) }
        let vault = try await fixture.open()
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        #expect(try await vault.status().bytesFetched == length)
        await vault.close()
    }

    @Test("A title is queued once, also by its id; what failed waits again")
    func twice() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { _ in ScriptedAnswer(404, fields: ["Content-Length": "0"]) }
        let vault = try await fixture.open()
        let twice = try await vault.queue.add([order(fixture, "a"), order(fixture, "a"), order(fixture, "b")])
        #expect(twice.count == 3 && twice[0].download == twice[1].download && twice[2].download != twice[0].download)
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts(failed: 2) }
        let failed = try await vault.queue.page(limit: 9).downloads
        #expect(failed.allSatisfy { $0.failure?.code == .refused && $0.failure?.originStatus == 404 })
        fixture.origin.answer { [resource = fixture.resource] in resource.answer(to: $0) }
        let again = try await vault.queue.add([order(fixture, "a")])
        #expect(again.map(\.download) == [twice[0].download] && again[0].failure == nil)
        try await vault.queue.wait { try await $0.counts() == DownloadCounts(failed: 1) }
        #expect(try await vault.queue.change(.retry, of: .titles([twice[2].title])) == 1)
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        let held = try await vault.titles.reference(of: twice[0].title)
        let byID = try await vault.queue.add([(held, DownloadOptions())])
        #expect(byID.first?.title == twice[0].title)
        await vault.close()
    }

    @Test("Clearing removes what failed and no longer lists what is done; what waits stays")
    func cleared() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        fixture.origin.answer { [resource = fixture.resource] request in
            request.target == "/a" ? resource.answer(to: request) : ScriptedAnswer(404, fields: ["Content-Length": "0"])
        }
        let vault = try await fixture.open()
        vault.queue.start()
        try await vault.queue.add([order(fixture, "a"), order(fixture, "b")])
        try await vault.queue.wait { try await $0.counts() == DownloadCounts(failed: 1) && $0.ended.count == 1 }
        let paused = try await vault.queue.add([order(fixture, "c")], first: true)
        _ = try await vault.queue.change(.pause, of: .titles([paused[0].title]))
        let before = try await vault.queue.counts()
        #expect(try await vault.queue.change(.clear, of: .all) == before.failed + 1)
        #expect(try await vault.queue.counts() == DownloadCounts(paused: before.paused) && vault.queue.ended.isEmpty)
        #expect(try await vault.titles.summary(of: fixture.origin.url("/a"))?.isComplete == true, "what arrived stays")
        await vault.close()
    }

    @Test("An entry has the name of its title if none was given for it, also after a restart")
    func names() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        for try await _ in vault.download(fixture.url, options: DownloadOptions(name: "A film")) {}
        #expect(try await vault.queue.add([(MediaReference(fixture.url), DownloadOptions())]).map(\.name) == ["A film"])
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.queue.page(limit: 9).downloads.map(\.name) == ["A film"])
        again.queue.start()
        try await again.queue.wait { try await $0.counts() == DownloadCounts() }
        #expect(again.queue.ended.map(\.name) == ["A film"])
        await again.close()
    }

    @Test("Pausing stops a download, resuming continues it, and cancelling keeps what arrived")
    func acts() async throws {
        let gate = Gate()
        let fixture = try await held(by: gate, at: 100_000)
        let vault = try await fixture.open()
        vault.queue.start()
        let title = try #require(try await vault.queue.add([order(fixture, "a")]).first?.title)
        await fixture.origin.wait { $0.first?.phase == .held }
        try await vault.waitUntilFetched(100_000)
        #expect(try await vault.queue.change(.pause, of: .titles([title])) == 1)
        await fixture.origin.wait { $0.first?.phase == .abandoned }
        #expect(try await states(vault) == [.paused])
        #expect(try await vault.queue.change(.pause, of: .all) == 0, "it is paused already")
        #expect(try await vault.queue.change(.resume, of: .all) == 1)
        await fixture.origin.wait { $0.count == 2 && $0[1].phase == .held }
        try await vault.waitUntilFetched(200_000)
        #expect(try await vault.queue.change(.cancel, of: .titles([title])) == 1)
        await fixture.origin.wait { $0[1].phase == .abandoned }
        #expect(try await vault.queue.counts() == DownloadCounts())
        #expect(vault.queue.ended.map(\.state) == [.ended])
        while try await vault.titles.summary(of: fixture.origin.url("/a"))?.bytes != 200_000 {
            try await Task.sleep(for: .milliseconds(5))
        }
        let unknown = await #expect(throws: VaultError.self) {
            _ = try await vault.queue.change(.cancel, of: .titles([title]))
        }
        #expect(unknown?.code == .notHeld)
        await vault.close()
    }

    @Test("A paused download that is queued again waits for its turn; pausing survives a restart")
    func pausedAgain() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let first = try await fixture.open()
        try await first.queue.add([order(fixture, "a"), order(fixture, "b")])
        _ = try await first.queue.change(.pause, of: .all)
        await first.close()
        let vault = try await fixture.open()
        #expect(try await states(vault) == [.paused, .paused])
        let again = try await vault.queue.add([order(fixture, "b")])
        #expect(again.map(\.state) == [.waiting])
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts(paused: 1) }
        #expect(!fixture.origin.exchanges.contains { $0.request.target == "/a" })
        await vault.close()
    }

    @Test("The destruction of a vault ends its downloads")
    func destroyed() async throws {
        let gate = Gate()
        let fixture = try await held(by: gate, at: 100_000)
        let vault = try await fixture.open()
        vault.queue.start()
        try await vault.queue.add([order(fixture, "a")])
        await fixture.origin.wait { $0.first?.phase == .held }
        _ = try await vault.destroy(vaultID: vault.status().vaultID)
        let (running, listed) = vault.queue.state.withLock { ($0.running.count, $0.list?.count) }
        #expect(running == 0 && listed == 0)
        #expect(fixture.origin.exchanges.count == 1)
    }

    @Test("Entries are moved before and behind all others, in their order")
    func moved() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let vault = try await fixture.open()
        let queued = try await vault.queue.add(["a", "b", "c", "d"].map { order(fixture, $0) })
        func names() async throws -> String {
            try await vault.queue.page(limit: 9).downloads.map { String($0.url.suffix(1)) }.joined()
        }
        #expect(try await names() == "abcd")
        _ = try await vault.queue.change(.first, of: .titles([queued[3].title, queued[2].title]))
        #expect(try await names() == "cdab")
        _ = try await vault.queue.change(.last, of: .titles([queued[2].title]))
        #expect(try await names() == "dabc")
        try await vault.queue.add([order(fixture, "e"), order(fixture, "f")], first: true)
        #expect(try await names() == "efdabc")
        await vault.close()
        let again = try await fixture.open()
        #expect(try await again.queue.page(limit: 9).downloads.map { $0.url.suffix(1) }.joined() == "efdabc")
        await again.close()
    }

    @Test("Request fields are kept over a restart, and sent to no other origin than their own")
    func fields() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let secret = HeaderFields(["Authorization": "Bearer one"])
        let first = try await fixture.open()
        try await first.queue.add([(MediaReference(fixture.origin.url("/a"), fields: secret), DownloadOptions())])
        await first.close()
        let vault = try await fixture.open()
        vault.queue.start()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        let received = fixture.origin.exchanges.map { $0.request.fields["authorization"] }
        #expect(!received.isEmpty && received.allSatisfy { $0 == "Bearer one" })
        await vault.close()
        var order = DownloadOrder(url: "http://a.example/film")
        order.fields = OriginFields(origin: "http://a.example", fields: secret)
        #expect(try order.reference().fields == secret)
        order.url = "http://b.example/film"
        #expect(try order.reference().fields.fields.isEmpty)
    }

    @Test("What an order says is what its record says")
    func record() throws {
        var options = DownloadOptions(
            connections: 4, bytesPerSecond: 7,
            selection: RenditionSelection(video: .height(480), audio: .languages(["en", "de"]), subtitles: .none),
            name: "A film")
        options.requiresMedia = true
        var reference = MediaReference(try MediaURL("http://a.example/film?b=c"), contentID: "d")
        reference.isDerived = true
        options.picture = reference
        options.picture?.contentID = nil
        options.picture?.fields = HeaderFields(["Authorization": "Bearer one"])
        let order = DownloadOrder(reference, options, isByID: false)
        #expect(order.options == options && order.video == "480" && order.audio == "en,de")
        #expect(try order.reference() == reference)
        let alone = DownloadOptions(selection: nil)
        #expect(DownloadOrder(reference, alone, isByID: false).options == alone)
    }

    @Test("What waits because the mode forbids requests runs as soon as it allows them")
    func mode() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        var options = VaultOptions()
        options.retry = .unhurried
        options.retry.firstQueueDelay = .seconds(600)
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        try await vault.settings.setMode(.offline)
        vault.queue.start()
        try await vault.queue.add([order(fixture, "a")])
        var (states, revision) = ([DownloadSnapshot.State](), 0)
        try await vault.queue.wait { queue in
            let news = queue.changes(since: revision)
            states += news.downloads?.map(\.state) ?? []
            revision = news.revision
            guard states.last == .waiting else { return false }
            return try await queue.page(limit: 1).downloads.first?.nextAttempt != nil
        }
        let waiting = try #require(try await vault.queue.page(limit: 1).downloads.first)
        #expect(waiting.state == .waiting && waiting.attempts == 1 && waiting.failure?.code == .notHeld)
        #expect(fixture.origin.exchanges.isEmpty)
        try await vault.settings.setMode(nil)
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        #expect(fixture.bytesSent == length)
        await vault.close()
    }

    @Test("Readers see the queue, and cannot change it")
    func reader() async throws {
        let fixture = try await VaultFixture(ScriptedResource(length: length))
        let owner = try await fixture.open()
        try await owner.queue.add([order(fixture, "a")])
        let reader = try await fixture.open(.reader)
        #expect(try await reader.status().downloads == DownloadCounts(waiting: 1))
        reader.queue.start()
        for attempt in [
            { try await reader.queue.add([(MediaReference(fixture.url), DownloadOptions())]) as Any },
            { try await reader.queue.change(.cancel, of: .all) as Any },
        ] as [() async throws -> Any] {
            let refusal = await #expect(throws: VaultError.self) { _ = try await attempt() }
            #expect(refusal?.code == .owned)
        }
        await reader.close()
        await owner.close()
        #expect(fixture.origin.exchanges.isEmpty)
    }

    @Test("What drips gives its place to what waits, says why, and continues behind it from where it stopped")
    func givesWay() async throws {
        let gate = Gate()
        let fixture = try await held(by: gate, at: 100_000)
        let quick = try ScriptedOrigin(fixture.resource)
        let clock = TestClock()
        var options = VaultOptions(mode: .online)
        options.retry = .unhurried
        options.now = { clock.now }
        let vault = try await Vault.open(fixture.place, unlock: fixture.unlock, options: options)
        var settings = try await vault.settings.downloads()
        try settings.setParallel(1)
        try await vault.settings.setDownloads(settings)
        vault.queue.start()
        try await vault.queue.add([order(fixture, "a")])
        try await vault.waitUntilFetched(100_000)
        try await vault.queue.wait { queue in
            queue.state.withLock { $0.running.values.contains { $0.heldBefore != nil } }
        }
        try await vault.queue.add([(MediaReference(quick.url("/b")), DownloadOptions())])
        let drips = fixture.origin.url("/a").absoluteString
        try await vault.queue.wait { queue in
            guard try await queue.page(limit: 9).downloads.last?.url != drips else { return true }
            clock.advance(by: DownloadPace.period / 2)
            queue.wake()
            return false
        }
        try await vault.queue.wait { queue in queue.ended.contains { $0.state == .done } }
        let slow = try #require(try await vault.queue.page(limit: 9).downloads.first)
        #expect(slow.url == drips)
        #expect(slow.failure?.message.contains("less than 4000 bytes a second") == true)
        gate.open()
        try await vault.queue.wait { queue in
            clock.advance(by: 1000)
            queue.wake()
            return try await queue.counts() == DownloadCounts()
        }
        #expect(fixture.ranges.dropFirst() == ["bytes=100000-"])
        await vault.close()
    }

    @Test("Settings are in force at once: a lower bound stops a download, which waits again")
    func settings() async throws {
        let gate = Gate()
        let fixture = try await held(by: gate, at: 100_000)
        let vault = try await fixture.open()
        vault.queue.start()
        try await vault.queue.add(["a", "b", "c"].map { order(fixture, $0) })
        try await vault.queue.wait { try await $0.counts() == DownloadCounts(waiting: 1, running: 2) }
        var settings = try await vault.settings.downloads()
        try settings.setPerHost(1)
        try await vault.settings.setDownloads(settings)
        try await vault.queue.wait { try await $0.counts() == DownloadCounts(waiting: 2, running: 1) }
        await fixture.origin.wait { $0.contains { $0.phase == .abandoned } }
        #expect(try await states(vault) == [.running, .waiting, .waiting])
        gate.open()
        try await vault.queue.wait { try await $0.counts() == DownloadCounts() }
        await vault.close()
    }
}
