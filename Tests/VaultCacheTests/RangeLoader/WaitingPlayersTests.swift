import Testing

@testable import VaultCache

@Suite("Players have priority over downloads")
struct WaitingPlayersTests {
    private let begin = ContinuousClock.now

    @Test("Downloads pause while a player waits, and for a moment after")
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

    @Test("One waiting player of several is enough")
    func several() {
        var players = WaitingPlayers()
        let one = players.begin(at: "a", now: begin)
        _ = players.begin(at: "a", now: begin + .milliseconds(10))
        players.end(one, now: begin + .milliseconds(20))
        #expect(players.havePriority(before: "a", now: begin + .seconds(2)))
    }

    /// Returns the milliseconds per minute that a download pauses for a player whose slow origin keeps it waiting.
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

    @Test("A player of a slow origin leaves every download a turn, and those of other origins nearly all the time")
    func slow() {
        #expect(stoodBack(for: "a") == 50_000, "five seconds out of six")
        #expect(stoodBack(for: "b") == 1000, "one second, since both may use the same line")
    }

    @Test("Many players of other origins that each wait now and then leave a download its turn")
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
        #expect(stood >= 20_000 && stood <= 31_000, "about one second out of two")
    }

    @Test("A player that got its bytes and later waits again regains priority, also over other origins")
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
