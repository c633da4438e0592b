import GRDB
import OriginTestSupport
import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultStorage

@Suite("Limits evict only played titles unless the owner allows more", .timeLimit(.minutes(2)))
struct LimitTests {
    private static let length: Int64 = 500_000

    /// Returns a vault with one downloaded title and one played title.
    private static func filled(_ fixture: RoomFixture) async throws -> Vault {
        let vault = try await fixture.open()
        try await fixture.download(vault, 1, length)
        try await fixture.play(vault, 2, length)
        return vault
    }

    private static func expectWhole(_ fixture: RoomFixture, _ vault: Vault) async throws {
        for title in UInt64(1)...2 { #expect(try await fixture.held(vault, title, length) == length) }
    }

    @Test("A limit that downloads exceed is refused by settings, pruning and opening, and nothing is evicted")
    func unreachable() async throws {
        let fixture = try await RoomFixture()
        var vault = try await Self.filled(fixture)
        let asked = StorageLimits(maxSize: 5)
        for isDryRun in [false, true] {
            let refusal = await #expect(throws: VaultError.self) {
                try await vault.space.prune(asked, isDryRun: isDryRun)
            }
            #expect(refusal?.code == .invalidArgument)
        }
        let refusal = await #expect(throws: VaultError.self) { try await vault.settings.setLimits(asked) }
        #expect(refusal?.code == .invalidArgument && refusal?.message.contains("or downloaded") == true)
        #expect(try await vault.settings.limits() == StorageLimits())
        try await Self.expectWhole(fixture, vault)
        await vault.close()
        let atOpening = await #expect(throws: VaultError.self) { try await fixture.open(asked) }
        #expect(atOpening?.code == .invalidArgument)
        vault = try await fixture.open()
        try await Self.expectWhole(fixture, vault)
        await vault.close()
    }

    @Test("Downloads stay although the vault is full, unless their eviction is allowed")
    func downloadsStay() async throws {
        let fixture = try await RoomFixture()
        var vault = try await Self.filled(fixture)
        let used = try await vault.status().used
        try await vault.settings.setLimits(StorageLimits(maxSize: used))
        for title in UInt64(3)...5 { try await fixture.play(vault, title, Self.length) }
        #expect(try await fixture.held(vault, 1, Self.length) == Self.length)
        #expect(try await fixture.held(vault, 5, Self.length) == Self.length)
        #expect(try await vault.space.prune().bytes == 0, "the limits in force are already met")
        try await vault.settings.setLimits(StorageLimits(maxSize: 5, evictsDownloads: true))
        #expect(try await fixture.held(vault, 1, Self.length) == 0)
        #expect(try await vault.status().used == 0)
        await vault.close()
        vault = try await fixture.open()
        #expect(try await vault.settings.limits().evictsDownloads == true, "the setting persists")
        await vault.close()
    }

    @Test("If the settings allow it, pruning to a size may evict downloads, unless the request forbids it")
    func pruningAsSet() async throws {
        let fixture = try await RoomFixture()
        let vault = try await Self.filled(fixture)
        try await vault.settings.setLimits(StorageLimits(evictsDownloads: true))
        let refusal = await #expect(throws: VaultError.self) {
            try await vault.space.prune(StorageLimits(maxSize: 5, evictsDownloads: false))
        }
        #expect(refusal?.code == .invalidArgument)
        try await Self.expectWhole(fixture, vault)
        #expect(try await vault.space.prune(StorageLimits(maxSize: 5)).used == 0)
        await vault.close()
    }

    @Test("A minimum of free space evicts no download, even if a size limit may")
    func freeSpace() async throws {
        let fixture = try await RoomFixture()
        fixture.disk.claimFree(1 << 30)
        let limits = StorageLimits(minFree: 1 << 20, evictsDownloads: true)
        let vault = try await fixture.open(limits)
        for title in UInt64(1)...2 { try await fixture.download(vault, title, Self.length) }
        try await fixture.play(vault, 3, Self.length)
        #expect(try await fixture.held(vault, 3, Self.length) == Self.length)
        fixture.disk.claimFree(0)
        #expect(try await vault.space.prune(isDryRun: true).resources == 1)
        #expect(try await vault.space.prune().resources == 1)
        // Storing a new title evicts no download either.
        try await fixture.play(vault, 4, Self.length)
        #expect(try await fixture.held(vault, 3, Self.length) ?? 0 == 0)
        try await Self.expectWhole(fixture, vault)
        await vault.close()
    }

    @Test("A limit is refused by the disk space that files take, not by their bytes alone")
    func diskUnits() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        for title in UInt64(1)...3 { try await fixture.download(vault, title, 1000) }
        let used = try await vault.status().used
        try #require(used == 3 * SegmentDescription.diskUnit)
        let refusal = await #expect(throws: VaultError.self) {
            try await vault.settings.setLimits(StorageLimits(maxSize: used - 1))
        }
        #expect(refusal?.code == .invalidArgument)
        try await vault.settings.setLimits(StorageLimits(maxSize: used))
        await vault.close()
    }

    @Test("A dry run reports what would be evicted, and evicts nothing")
    func rehearsal() async throws {
        let fixture = try await RoomFixture()
        let vault = try await Self.filled(fixture)
        try await fixture.play(vault, 3, Self.length)
        let used = try await vault.status().used
        let wanted = StorageLimits(maxSize: used / 2)
        let told = try await vault.space.prune(wanted, isDryRun: true)
        #expect(try await vault.status().used == used && told.bytes > 0 && told.segments > 0)
        #expect(try await vault.space.prune(wanted) == told)
        #expect(try await vault.status().used == told.used)
        await vault.close()
    }

    @Test("Each run of evictions is reported once, after it ends; the rest is reported at closing")
    func told() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open(StorageLimits(maxSize: 1 << 20))
        var events = vault.space.events().makeAsyncIterator()
        for title in UInt64(1)...6 { try await fixture.play(vault, title, Self.length) }
        await fixture.later(vault, .zero)
        await fixture.later(vault, .seconds(10))
        let gone = try await vault.status().evicted
        let event = await events.next()
        guard case .evicted(let titles, let segments, let bytes)? = event else {
            Issue.record("unexpected event: \(String(describing: event))")
            return
        }
        #expect(bytes == gone && gone > 0 && titles >= 4 && segments >= 4)
        let report = try await vault.space.prune(StorageLimits(maxSize: 5))
        await vault.close()
        #expect(
            await events.next()
                == .evicted(titles: report.resources, segments: report.segments, bytes: report.bytes))
        #expect(await events.next() == nil)
    }

    @Test("By default a part of the disk stays free, and 0 keeps nothing free")
    func standardFree() async throws {
        #expect(StorageLimits.standardFree(ofDisk: 100 << 30) == 5 << 30)
        #expect(StorageLimits.standardFree(ofDisk: 1 << 42) == 10 << 30)
        #expect(StorageLimits.standardFree(ofDisk: -1) == 0)
        let fixture = try await RoomFixture()
        fixture.disk.claimTotal(40 << 20)
        fixture.disk.claimFree(2 << 20)
        var vault = try await fixture.open()
        #expect(try await vault.status().limits.minFree == 2 << 20)
        try await fixture.play(vault, 1, Self.length)
        #expect(try await fixture.held(vault, 1, Self.length) ?? 0 == 0, "the title plays and is not stored")
        try await vault.settings.setLimits(StorageLimits(minFree: 0))
        await vault.close()
        vault = try await fixture.open()
        #expect(try await vault.settings.limits().minFree == 0)
        try await fixture.play(vault, 2, Self.length)
        #expect(try await fixture.held(vault, 2, Self.length) == Self.length)
        await vault.close()
    }

    @Test("A reader beside the owner cannot remove, pin or prune titles, or change settings")
    func reader() async throws {
        let fixture = try await RoomFixture()
        let owner = try await Self.filled(fixture)
        let beside = try await fixture.open(access: .reader)
        let title = MediaReference(fixture.url(2, Self.length))
        let acts: [(String, @Sendable () async throws -> Void)] = [
            ("remove", { try await beside.titles.remove(title) }), ("pin", { try await beside.titles.pin(title) }),
            ("unpin", { try await beside.titles.unpin(title) }),
            ("limits", { try await beside.settings.setLimits(StorageLimits(maxAge: 9)) }),
            ("prune", { _ = try await beside.space.prune(StorageLimits(maxAge: 0)) }),
            ("policy", { try await beside.settings.setKeyPolicy(KeyPolicy()) }),
            ("mode", { try await beside.settings.setMode(.offline) }),
        ]
        for (name, act) in acts {
            let error = await #expect(throws: VaultError.self, "\(name)") { try await act() }
            #expect(error?.code == .owned, "\(name)")
        }
        try await Self.expectWhole(fixture, owner)
        await beside.close()
        await owner.close()
    }

    @Test("Several settings change in one transaction: if one fails, none changes")
    func oneTransaction() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        await #expect(throws: VaultError.self) {
            try await vault.settings.change(
                limits: { $0.maxAge = 99 },
                policy: { _ in throw VaultError(.invalidArgument, "no such policy") }, mode: .some(.offline))
        }
        #expect(try await vault.settings.limits() == StorageLimits())
        #expect(try await vault.settings.ownMode() == nil && vault.settings.mode == .online)
        let writes = try await fixture.settingWrites(of: vault) {
            try await vault.settings.change(
                limits: { $0.maxAge = 99 },
                policy: { old in
                    var policy = try old()
                    try policy.ignore(["token"])
                    return policy
                }, mode: .some(.preferVault))
        }
        #expect(writes == 1)
        #expect(try await vault.settings.limits().maxAge == 99 && vault.settings.mode == .preferVault)
        #expect(try await vault.settings.keyPolicy().ignoreQuery.count == 1)
        await vault.close()
    }

    @Test("Bytes served without waiting are judged by the vault's own clock")
    func clock() async throws {
        let fixture = try await FreshFixture(cacheControl: "max-age=60")
        let vault = try await fixture.filled()
        let resource = try await vault.name(MediaReference(fixture.url))
        let range = RequestedRange.closed(first: 0, last: 999)
        try await fixture.settle(vault)
        #expect(vault.playback.held(resource, range: range) != nil)
        fixture.clock.advance(by: 61)
        #expect(vault.playback.held(resource, range: range) == nil)
        await vault.close()
    }

    @Test("Bytes served without waiting count as read in the hour of the vault's own clock")
    func accessTimes() async throws {
        let fixture = try await FreshFixture(cacheControl: "max-age=1000000", in: .disk)
        let vault = try await fixture.filled()
        // Bytes that are not sealed yet come from memory, and are not held.
        try await fixture.settle(vault)
        let resource = try await vault.name(MediaReference(fixture.url))
        let range = RequestedRange.closed(first: 0, last: 999)
        var given = 0
        for _ in 0..<100 where given < 2 {
            _ = try await fixture.vault.read(vault, range)
            fixture.clock.advance(by: 3600)
            // A busy machine may close the segment before it is used. The test then reads again, in the previous hour.
            guard let held = vault.playback.held(resource, range: range) else { continue }
            let isGiven = unsafe withUnsafeTemporaryAllocation(byteCount: held.range.count, alignment: 1) {
                unsafe vault.playback.open(held, into: $0)
            }
            guard isGiven else { continue }
            given += 1
            await vault.runPeriodicWork(now: .now)
            let hour = fixture.clock.now - fixture.clock.now % 3600
            #expect(try EvictionRows(vault.store.index).candidate(resource.id)?.accessed == hour)
        }
        #expect(given == 2)
        await vault.close()
    }
}

extension RoomFixture {
    /// Returns how often `body` writes the settings.
    fileprivate func settingWrites(of vault: Vault, _ body: () async throws -> Void) async throws -> Int {
        try vault.store.index.write { db in
            try db.execute(
                sql: """
                    CREATE TEMP TABLE written (one INTEGER);
                    CREATE TEMP TRIGGER count AFTER UPDATE OF settings ON main.vault
                        BEGIN INSERT INTO written VALUES (1); END
                    """)
        }
        try await body()
        return try vault.store.index.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM written") ?? 0 }
    }
}
