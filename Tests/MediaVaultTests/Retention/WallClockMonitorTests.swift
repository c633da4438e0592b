import Testing
import VaultModel
import VaultTestSupport

@testable import MediaVault
@testable import VaultCache

@Suite("The time of day is trusted if the clock runs evenly", .timeLimit(.minutes(5)))
struct WallClockMonitorTests {
    private let start = ContinuousClock.now

    @Test("The clock is not trusted for the first hour, nor for an hour after it was set")
    func settling() {
        var clock = WallClockMonitor()
        #expect(!clock.isSteady(at: start))
        for minute in Int64(0)...60 {
            #expect(clock.look(wall: 1000 + minute * 60, uptime: start + .seconds(minute * 60)) == .even)
        }
        #expect(!clock.isSteady(at: start + .seconds(3599)) && clock.isSteady(at: start + .seconds(3600)))
        let ahead = 1000 + 3600 + 400 * 86_400
        #expect(
            clock.look(wall: Int64(ahead), uptime: start + .seconds(3660))
                == .set(first: 1000, last: 4660, now: Int64(ahead)))
        #expect(!clock.isSteady(at: start + .seconds(3660)) && !clock.isSteady(at: start + .seconds(7259)))
        #expect(
            clock.look(wall: 4720, uptime: start + .seconds(3720))
                == .set(first: Int64(ahead), last: Int64(ahead) + 60, now: 4720))
        #expect(!clock.isSteady(at: start + .seconds(7319)) && clock.isSteady(at: start + .seconds(7320)))
    }

    @Test("A clock that is set by minutes, as time services do, runs evenly", arguments: [-300, -1, 1, 300] as [Int64])
    func small(by seconds: Int64) {
        var clock = WallClockMonitor()
        _ = clock.look(wall: 50_000, uptime: start)
        #expect(clock.look(wall: 50_001 + seconds, uptime: start + .seconds(1)) == .even)
    }

    @Test("Extreme times of day count as a set clock", arguments: [Int64.min, -1, 0, .max])
    func extreme(wall: Int64) {
        var clock = WallClockMonitor()
        _ = clock.look(wall: wall, uptime: start)
        #expect(clock.look(wall: 1_700_000_000, uptime: start + .seconds(1)) != .even)
        #expect(clock.look(wall: wall, uptime: start + .seconds(2)) != .even)
    }

    @Test("A clock that is ahead for a moment evicts no played title")
    func ahead() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open(StorageLimits(maxAge: 90 * 86_400))
        for title in UInt64(1)...2 { try await fixture.play(vault, title, 100_000) }
        await fixture.later(vault, .zero)
        fixture.clock.advance(by: 7200)
        await fixture.later(vault, .seconds(7200))
        let used = try await vault.status().used
        fixture.clock.advance(by: 400 * 86_400)
        await fixture.later(vault, .seconds(7300))
        #expect(try await vault.status().used == used && used > 0)
        fixture.clock.advance(by: -400 * 86_400)
        await fixture.later(vault, .seconds(7400))
        // From here on, the jump has no effect, and titles are evicted at their real age.
        fixture.clock.advance(by: 89 * 86_400)
        await fixture.later(vault, .seconds(7400 + 89 * 86_400))
        #expect(try await vault.status().used == used)
        fixture.clock.advance(by: 2 * 86_400)
        await fixture.later(vault, .seconds(7400 + 91 * 86_400))
        #expect(try await vault.status().used == 0)
        await vault.close()
    }

    @Test("A title played before the clock was set keeps its real age")
    func behind() async throws {
        let fixture = try await RoomFixture()
        let now = fixture.clock.now
        fixture.clock.advance(by: 4000 - now)
        let vault = try await fixture.open(StorageLimits(maxAge: 90 * 86_400))
        try await fixture.play(vault, 1, 100_000)
        await fixture.later(vault, .zero)
        fixture.clock.advance(by: now - 4000)
        await fixture.later(vault, .seconds(60))
        fixture.clock.advance(by: 7200)
        await fixture.later(vault, .seconds(7260))
        #expect(try await fixture.held(vault, 1, 100_000) == 100_000)
        await vault.close()
    }

    @Test("No title is lost if the clock reports a year that no row can have")
    func impossibleYear() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        await fixture.later(vault, .zero)
        try await fixture.play(vault, 1, 1000)
        await fixture.later(vault, .seconds(1))
        let ahead: Int64 = 300_000_000_000 - fixture.clock.now
        fixture.clock.advance(by: ahead)
        await fixture.later(vault, .seconds(60))
        #expect(try await fixture.held(vault, 1, 1000) == 1000)
        fixture.clock.advance(by: -ahead)
        await fixture.later(vault, .seconds(120))
        #expect(try await fixture.held(vault, 1, 1000) == 1000)
        await vault.close()
    }

    @Test("A new age limit does not at once evict titles that an untrusted clock calls old")
    func setLimit() async throws {
        let fixture = try await RoomFixture()
        let vault = try await fixture.open()
        try await fixture.play(vault, 1, 100_000)
        fixture.clock.advance(by: 400 * 86_400)
        try await vault.settings.setLimits(StorageLimits(maxAge: 90 * 86_400))
        #expect(try await fixture.held(vault, 1, 100_000) == 100_000)
        await vault.close()
    }
}
