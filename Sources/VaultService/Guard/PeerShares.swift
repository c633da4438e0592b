/// How many of a listener's connections each peer has, so that none has all of them. A value.
struct PeerShares {
    /// The most that one may have.
    let most: Int
    private var taken: [PeerAddress: Int] = [:]

    /// - Parameter connections: how many there may be of all peers.
    init(of connections: Int) { most = max(1, connections / 4) }

    /// Whether a peer has more than its share.
    func isOver(_ peer: PeerAddress) -> Bool { taken[peer, default: 0] > most }

    /// A peer has one more.
    mutating func take(_ peer: PeerAddress) { taken[peer, default: 0] += 1 }

    /// A peer has one fewer.
    mutating func giveBack(_ peer: PeerAddress) {
        let left = taken[peer, default: 0] - 1
        taken[peer] = left > 0 ? left : nil
    }
}
