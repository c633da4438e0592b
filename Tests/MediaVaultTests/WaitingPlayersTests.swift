import Testing

@testable import MediaVault

@Suite("Players before downloads")
struct WaitingPlayersTests {
    private let begin = ContinuousClock.now

    @Test("Downloads stand back while a player waits, and a moment longer")
    func waiting() {
        var players = WaitingPlayers()
        #expect(!players.goFirst(now: begin))
        let id = players.begin(now: begin)
        #expect(players.goFirst(now: begin + .seconds(1)))
        players.end(id, now: begin + .seconds(1))
        #expect(players.goFirst(now: begin + .milliseconds(1100)))
        #expect(!players.goFirst(now: begin + .milliseconds(1200)))
    }

    @Test("A player whose origin is silent does not hold up the downloads of others")
    func silent() {
        var players = WaitingPlayers()
        let id = players.begin(now: begin)
        #expect(!players.goFirst(now: begin + .seconds(6)))
        players.end(id, now: begin + .seconds(6))
        #expect(!players.goFirst(now: begin + .seconds(6)))
    }

    @Test("One of several players is enough")
    func several() {
        var players = WaitingPlayers()
        let one = players.begin(now: begin)
        _ = players.begin(now: begin + .milliseconds(10))
        players.end(one, now: begin + .milliseconds(20))
        #expect(players.goFirst(now: begin + .seconds(2)))
    }
}
