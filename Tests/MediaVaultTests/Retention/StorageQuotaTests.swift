import OriginTestSupport
import SeededRandom
import Synchronization
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache

@Suite("A vault within limits", .timeLimit(.minutes(2)))
struct StorageQuotaTests {
    private static let mebibyte: Int64 = 1 << 20

    /// A queue from which several players take titles.
    private final class Order: Sendable {
        typealias Title = (number: UInt64, length: Int64)
        private let titles: Mutex<ArraySlice<Title>>

        init(_ titles: [Title]) { self.titles = Mutex(titles[...]) }

        func next() -> Title? { titles.withLock { $0.popFirst() } }
    }

    @Test("The title played longest ago is evicted first, and pinned or playing titles are never touched")
    func evicts() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open(StorageLimits(maxSize: 4 * Self.mebibyte))
        try await fixture.play(vault, 1, 1_000_000)
        try await vault.titles.pin(MediaReference(fixture.url(1, 1_000_000)))
        try await fixture.play(vault, 2, 1_000_000)
        let playing = try await vault.read(fixture.url(2, 1_000_000))
        _ = try await playing.next()
        for title in UInt64(3)..<9 { try await fixture.play(vault, title, 1_000_000) }
        #expect(try await fixture.held(vault, 1, 1_000_000) == 1_000_000)
        #expect(try await fixture.held(vault, 2, 1_000_000) == 1_000_000)
        #expect(try await fixture.held(vault, 8, 1_000_000) == 1_000_000, "the last title is complete")
        let status = try await vault.status()
        #expect(status.used <= 4 * Self.mebibyte && status.evicted > 3_000_000 && status.passedThrough == 0)
        #expect(fixture.meter.most <= 4 * Self.mebibyte)
        // The missing bytes of an evicted title are fetched again.
        for title in UInt64(3)..<9 { try await fixture.play(vault, title, 1_000_000) }
        playing.cancel()
        await vault.close()
    }

    @Test("What has no length and is only played may be a web radio: nothing is evicted for it; it is for a download")
    func unbounded() async throws {
        let fixture = try await RoomFixture()
        fixture.origin.answer { request in
            guard request.target.hasPrefix("/9-") else {
                return RoomFixture.title(ofTarget: request.target).answer(to: request)
            }
            var answer = ScriptedResource(seed: 9, length: 3_500_000, entityTag: "\"9\"", supportsRanges: false)
                .answer(to: request)
            answer.sendInChunks()
            return answer
        }
        let vault = try await fixture.open(StorageLimits(maxSize: 4 * Self.mebibyte))
        for title in UInt64(1)...3 { try await fixture.play(vault, title, 1_000_000) }
        try await fixture.play(vault, 9, 3_500_000)
        for title in UInt64(1)...3 { #expect(try await fixture.held(vault, title, 1_000_000) == 1_000_000) }
        #expect(try await vault.status().evicted == 0)
        try await fixture.download(vault, 9, 3_500_000)
        #expect(try await fixture.held(vault, 9, 3_500_000) == 3_500_000)
        #expect(try await vault.status().evicted > 0)
        await vault.close()
    }

    @Test("60 titles, eight at a time, never exceed 20 MiB; pinned titles stay complete, and no byte is wrong")
    func many() async throws {
        let seed = UInt64.random(in: 0 ..< .max)
        var random = SeededGenerator(seed: seed)
        let fixture = try await RoomFixture()
        let limit = 20 * Self.mebibyte
        let vault = try await fixture.open(StorageLimits(maxSize: limit))
        let titles = (0..<60).map { (number: UInt64($0), length: Int64.random(in: 1...3_000_000, using: &random)) }
        let pinned = titles.prefix(5)
        for title in pinned {
            try await fixture.download(vault, title.number, title.length)
            try await vault.titles.pin(MediaReference(fixture.url(title.number, title.length)))
        }
        let order = Order(titles + titles.shuffled(using: &random).prefix(20))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while let title = order.next() {
                        try await fixture.play(vault, title.number, title.length)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(fixture.meter.most <= limit, "seed \(seed)")
        let status = try await vault.status()
        #expect(status.used <= limit, "seed \(seed)")
        for title in pinned {
            #expect(try await fixture.held(vault, title.number, title.length) == title.length, "seed \(seed)")
        }
        #expect(status.evicted > 0, "seed \(seed)")
        await vault.close()
        let again = try await fixture.open(StorageLimits(maxSize: limit))
        #expect(try await again.status().used == fixture.meter.total, "seed \(seed)")
        await again.close()
    }

    @Test("A title larger than the limit plays completely, byte for byte, and its held bytes may stay")
    func oversize() async throws {
        let fixture = try await RoomFixture()
        let limit = 2 * Self.mebibyte
        let vault = try await fixture.open(StorageLimits(maxSize: limit))
        let length = 6 * Self.mebibyte
        try await fixture.play(vault, 1, length)
        #expect(fixture.meter.most <= limit)
        let held = try #require(try await fixture.held(vault, 1, length))
        #expect(held > 1_000_000, "its start is held")
        let status = try await vault.status()
        #expect(status.passedThrough == length - held && status.bytesFetched == length)
        // The next reader reports that nothing is stored.
        let reader = try await vault.read(fixture.url(1, length), range: .from(5 * Self.mebibyte))
        #expect(reader.bypass == .capacity)
        reader.cancel()
        await vault.close()
    }

    @Test("A download without enough space ends, reports how much is missing, and keeps what it stored")
    func download() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open(StorageLimits(maxSize: 2 * Self.mebibyte))
        let length = 40 * Self.mebibyte
        let error = await #expect(throws: VaultError.self) { try await fixture.download(vault, 1, length) }
        let held = try #require(try await fixture.held(vault, 1, length))
        #expect(error?.code == .quotaExceeded && error?.firstMissing == held)
        #expect(error?.message.contains("\(length - held) bytes") == true)
        #expect(try await vault.status().bytesFetched < length / 2, "the download does not fetch what it cannot keep")
        await vault.close()
    }

    @Test("If space returns, a running transfer is stored again, and each change is reported once")
    func comesBack() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open(StorageLimits(maxSize: 2 * Self.mebibyte, evictsDownloads: true))
        try await fixture.download(vault, 1, 1_900_000)
        try await vault.titles.pin(MediaReference(fixture.url(1, 1_900_000)))
        var events = vault.space.events().makeAsyncIterator()
        let reader = try await vault.read(fixture.url(2, 1_500_000))
        var count: Int64 = 0
        while count < 1_000_000, let bytes = try await reader.next() { count += Int64(bytes.count) }
        // The sealer is a little behind the player.
        while reader.bypass == nil { try await Task.sleep(for: .milliseconds(5)) }
        await fixture.later(vault, .zero)
        let first = await events.next()
        guard case .passingThrough(.capacity, let message)? = first else {
            Issue.record("unexpected event: \(String(describing: first))")
            return
        }
        #expect(try await vault.status().storeFailure == message && reader.bypass == .capacity)
        try await vault.titles.unpin(MediaReference(fixture.url(1, 1_900_000)))
        await fixture.later(vault, .seconds(4))
        #expect(reader.bypass == nil)
        while let bytes = try await reader.next() { count += Int64(bytes.count) }
        #expect(count == 1_500_000)
        var seconds = 10
        while try await vault.status().storeFailure != nil {
            // The sealer may still be behind.
            await fixture.later(vault, .seconds(seconds))
            seconds += 6
        }
        let second = await events.next()
        guard case .storing(let passed)? = second else {
            Issue.record("unexpected event: \(String(describing: second))")
            return
        }
        let status = try await vault.status()
        #expect(passed == status.passedThrough && passed > 0 && status.storeFailure == nil)
        await vault.close()
        let again = try await fixture.open(access: .reader)
        #expect(try await fixture.held(again, 2, 1_500_000) == 1_500_000 - passed)
        await again.close()
    }

    @Test("Between two titles the store still counts as refusing, as long as nothing can be evicted for the next one")
    func staysRefusing() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open(StorageLimits(maxSize: 2 * Self.mebibyte, evictsDownloads: true))
        try await fixture.download(vault, 1, 1_900_000)
        let pinned = MediaReference(fixture.url(1, 1_900_000))
        try await vault.titles.pin(pinned)
        try await fixture.play(vault, 2, 1_500_000)
        await fixture.later(vault, .zero)
        let message = try #require(try await vault.status().storeFailure)
        for second in [10, 20, 30] { await fixture.later(vault, .seconds(second)) }
        #expect(try await vault.status().storeFailure == message)
        try await vault.titles.unpin(pinned)
        for second in [40, 50] { await fixture.later(vault, .seconds(second)) }
        #expect(try await vault.status().storeFailure == nil)
        await vault.close()
    }

    @Test("Limits are kept in the settings, and the limits of a run override them")
    func settings() async throws {
        let fixture = try await RoomFixture()
        var vault = try await fixture.open()
        #expect(try await vault.settings.limits() == StorageLimits())
        let limits = StorageLimits(maxSize: 300 << 20, maxAge: 90 * 86_400, minFree: 1 << 20)
        try await vault.settings.setLimits(limits)
        await #expect(throws: VaultError.self) { try await vault.settings.setLimits(StorageLimits(maxSize: -1)) }
        await vault.close()
        vault = try await fixture.open(StorageLimits(maxSize: 1 << 20))
        #expect(try await vault.settings.limits() == limits)
        #expect(
            try await vault.status().limits == StorageLimits(maxSize: 1 << 20, maxAge: 90 * 86_400, minFree: 1 << 20))
        await vault.close()
    }

    @Test("A lowered limit applies at once, and titles that are too old are evicted automatically")
    func upkeep() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        for title in UInt64(1)...4 { try await fixture.play(vault, title, 500_000) }
        try await vault.settings.setLimits(StorageLimits(maxSize: 1 << 20, maxAge: 90 * 86_400))
        #expect(try await vault.status().used <= 1 << 20)
        #expect(try await vault.status().used > 500_000)
        await fixture.later(vault, .zero)
        fixture.clock.advance(by: 89 * 86_400)
        await fixture.later(vault, .seconds(89 * 86_400))
        #expect(try await vault.status().used > 500_000)
        fixture.clock.advance(by: 2 * 86_400)
        await fixture.later(vault, .seconds(91 * 86_400))
        let status = try await vault.status()
        #expect(status.used == 0 && status.resources == 0)
        await vault.close()
    }

    @Test("Removing a title ends its readers and leaves nothing, and the next reader starts again")
    func remove() async throws {
        let fixture = try await RoomFixture()
        let gate = Gate()
        let vault = try await fixture.open()
        let url = fixture.url(1, 900_000)
        fixture.origin.answer { request in
            var answer = RoomFixture.title(ofTarget: request.target).answer(to: request)
            if request.number == 0 { answer.insert(.hold(gate), at: 400_000) }
            return answer
        }
        let reader = try await vault.read(url)
        var count = 0
        while count < 400_000, let bytes = try await reader.next() { count += bytes.count }
        #expect(try await vault.titles.remove(MediaReference(url)) >= 393_216)
        let error = await #expect(throws: VaultError.self) { while try await reader.next() != nil {} }
        #expect(error?.code == .removed)
        gate.open()
        #expect(try await vault.titles.summary(of: url) == nil)
        #expect(fixture.meter.total == 0)
        let unknown = await #expect(throws: VaultError.self) { try await vault.titles.remove(MediaReference(url)) }
        #expect(unknown?.code == .notHeld)
        try await fixture.play(vault, 1, 900_000)
        #expect(try await fixture.held(vault, 1, 900_000) == 900_000)
        reader.cancel()
        #expect(try await vault.status().used == fixture.meter.total)
        await vault.close()
    }

    @Test("An unpinned title counts as a download if it is complete, otherwise as played")
    func unpin() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        try await fixture.play(vault, 1, 100_000)
        try await fixture.play(vault, 2, 100_000, .closed(first: 0, last: 9))
        for (number, kept) in [(UInt64(1), "download"), (2, "cache")] {
            let title = MediaReference(fixture.url(number, 100_000))
            try await vault.titles.pin(title)
            #expect(try await vault.titles.summary(of: title)?.resourceClass == "pinned")
            if number == 1 {
                try await fixture.download(vault, number, 100_000)
                #expect(
                    try await vault.titles.summary(of: title)?.resourceClass == "pinned", "a download does not unpin")
            }
            try await vault.titles.unpin(title)
            #expect(try await vault.titles.summary(of: title)?.resourceClass == kept)
        }
        try await vault.titles.unpin(MediaReference(fixture.url(2, 100_000)))
        let unknown = await #expect(throws: VaultError.self) {
            try await vault.titles.pin(MediaReference(fixture.url(9, 1)))
        }
        #expect(unknown?.code == .notHeld)
        await vault.close()
    }

    @Test("Pruning applies limits once, and reports what was removed")
    func prune() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        for title in UInt64(1)...3 { try await fixture.play(vault, title, 100_000) }
        let used = try await vault.status().used
        let report = try await vault.space.prune(StorageLimits(maxSize: used / 3))
        #expect(report == PruneReport(resources: 2, segments: 2, bytes: used / 3 * 2, used: used / 3))
        #expect(try await vault.settings.limits() == StorageLimits())
        await vault.close()
    }

    @Test("For a reader beside the owner, a file removed after its row was read is a gap, not damage")
    func besideTheOwner() async throws {
        let fixture = try await RoomFixture()
        let owner = try await fixture.open()
        // Two segments, because the second begins after a gap.
        try await fixture.play(owner, 1, 900_000, .closed(first: 0, last: 99_999))
        try await fixture.play(owner, 1, 900_000, .closed(first: 200_000, last: 299_999))
        let beside = try await fixture.open(access: .reader)
        let reader = try await beside.read(fixture.url(1, 900_000), range: .closed(first: 0, last: 299_999))
        _ = try await owner.space.prune(StorageLimits(maxSize: 120_000))
        try await fixture.play(owner, 1, 900_000, .closed(first: 100_000, last: 149_999))
        var count = 0
        while count < 100_000, let bytes = try await reader.next() { count += bytes.count }
        let late = try await beside.read(fixture.url(1, 900_000), range: .closed(first: 200_000, last: 299_999))
        let error = await #expect(throws: VaultError.self) { while try await late.next() != nil {} }
        #expect(error?.code == .notHeld && error?.firstMissing == 200_000)
        // The reader finds what the owner has stored since.
        let found = try await beside.read(fixture.url(1, 900_000), range: .closed(first: 100_000, last: 149_999))
        #expect(found.source == .held)
        await beside.close()
        await owner.close()
    }
}
