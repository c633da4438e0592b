import Testing

@testable import MediaVault

@Suite("Players before downloads")
struct WaitingPlayersTests {
    private let begin = ContinuousClock.now

    @Test("Downloads stand back while a player waits, and a moment longer")
    func waiting() {
        var players = WaitingPlayers()
        #expect(!players.havePriority(before: "a", now: begin))
        let id = players.begin(at: "a", now: begin)
        #expect(players.havePriority(before: "a", now: begin + .seconds(1)))
        players.end(id, now: begin + .seconds(1))
        #expect(players.havePriority(before: "a", now: begin + .milliseconds(1100)))
        #expect(!players.havePriority(before: "a", now: begin + .milliseconds(1200)))
    }

    @Test("A player whose origin is silent does not hold up the downloads of others")
    func silent() {
        var players = WaitingPlayers()
        let id = players.begin(at: "a", now: begin)
        #expect(!players.havePriority(before: "a", now: begin + .seconds(6)))
        players.end(id, now: begin + .seconds(6))
        #expect(!players.havePriority(before: "a", now: begin + .seconds(6)))
    }

    @Test("One of several players is enough")
    func several() {
        var players = WaitingPlayers()
        let one = players.begin(at: "a", now: begin)
        _ = players.begin(at: "a", now: begin + .milliseconds(10))
        players.end(one, now: begin + .milliseconds(20))
        #expect(players.havePriority(before: "a", now: begin + .seconds(2)))
    }

    /// Milliseconds of a minute in which a download stands back for a player that waits all the time: its origin drips.
    private func stoodBack(for origin: String) -> Int {
        var players = WaitingPlayers()
        var wait = players.begin(at: "a", now: begin)
        return (0..<60_000).count { millisecond in
            let now = begin + .milliseconds(millisecond)
            if millisecond % 400 == 399 {
                players.end(wait, now: now)
                wait = players.begin(at: "a", now: now)
            }
            return players.havePriority(before: origin, now: now)
        }
    }

    @Test("A player whose origin drips leaves every download its turn, and those of other origins nearly all the time")
    func slow() {
        #expect(stoodBack(for: "a") == 50_000, "five seconds of six")
        #expect(stoodBack(for: "b") == 1000, "one second, which they may share a line for")
    }

    @Test("Many players of other origins, each of which waits now and then, leave a download its turn")
    func crowd() {
        var players = WaitingPlayers()
        var waits: [Int: Int] = [:]
        let stood = (0..<60_000).count { millisecond in
            let now = begin + .milliseconds(millisecond)
            for player in 0..<8 {
                let phase = (millisecond + player * 50) % 400
                if phase == 0 { waits[player] = players.begin(at: "origin \(player)", now: now) }
                if phase == 50, let wait = waits.removeValue(forKey: player) { players.end(wait, now: now) }
            }
            return players.havePriority(before: "download", now: now)
        }
        #expect(stood >= 20_000 && stood <= 31_000, "one second of two")
    }

    @Test("A player that has its bytes and misses some later has them first again, also before other origins")
    func again() {
        var players = WaitingPlayers()
        let first = players.begin(at: "a", now: begin)
        #expect(!players.havePriority(before: "b", now: begin + .seconds(2)))
        players.end(first, now: begin + .seconds(2))
        let later = begin + .seconds(3)
        _ = players.begin(at: "a", now: later)
        #expect(players.havePriority(before: "b", now: later) && players.havePriority(before: "a", now: later))
    }
}
