import VaultModel

/// Looks after connections that wait, all in one round a few times a second: a timer for each answer would cost more than
/// a short answer does.
final class ClientRound: Sendable {
    /// A connection, what is asked about it, and what is done once its client has gone.
    struct Client: Sendable {
        let isWaiting: @Sendable () -> Bool
        let isThere: @Sendable () async -> Bool
        let whenGone: @Sendable () -> Void
    }

    private struct Round {
        var clients: [Int: Client] = [:]
        var lastID = 0
        var isRunning = false
    }

    private let round = Locked(Round())

    /// The round of the process.
    static let shared = ClientRound()

    /// How long until the next round: a client that leaves is noticed soon, and many cost no more than few.
    static func interval(of count: Int) -> Duration { min(.milliseconds(250), .milliseconds(50) * (1 + count / 64)) }

    /// Takes a client in.
    ///
    /// - Returns: what takes it out again.
    func add(_ client: Client) -> Int {
        let (id, starts) = round.withLock { round in
            round.lastID += 1
            round.clients[round.lastID] = client
            defer { round.isRunning = true }
            return (round.lastID, !round.isRunning)
        }
        if starts { Task { await run() } }
        return id
    }

    /// Takes a client out.
    func remove(_ id: Int) { round.withLock { _ = $0.clients.removeValue(forKey: id) } }

    private func pause() -> Duration { Self.interval(of: round.withLock { $0.clients.count }) }

    /// Goes round until there is nobody.
    private func run() async {
        while true {
            try? await Task.sleep(for: pause())
            let clients = round.withLock { round in
                if round.clients.isEmpty { round.isRunning = false }
                return round.clients
            }
            guard !clients.isEmpty else { return }
            for (id, client) in clients where client.isWaiting() {
                guard await !client.isThere() else { continue }
                remove(id)
                client.whenGone()
            }
        }
    }
}
