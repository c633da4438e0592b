import NIOCore
import Testing

@testable import VaultService

@Suite("The share of the connections of one peer")
struct PeerSharesTests {
    @Test(
        "A peer is an IPv4 address, mapped or not, or an IPv6 /64 network",
        arguments: [
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true), ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true),
            ("2001:db8:1:2::1", "2001:db8:1:3::1", false), ("::2", "::3", true), ("::2", "192.0.2.1", false),
        ])
    func peers(one: String, other: String, isSame: Bool) throws {
        let (one, other) = (try peer(one), try peer(other))
        #expect(one != nil && other != nil && (one == other) == isSame)
    }

    @Test(
        "Clients on this machine are not counted as peers",
        arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    func thisMachine(address: String) throws { #expect(try peer(address) == nil) }

    @Test("Clients of a socket file are not counted as peers")
    func socketFile() throws {
        #expect(PeerAddress(try SocketAddress(unixDomainSocketPath: "/media.sock")) == nil && PeerAddress(nil) == nil)
    }

    @Test("A share is a quarter, and at least one", arguments: [(1024, 256), (8, 2), (7, 1), (1, 1)])
    func shares(connections: Int, most: Int) { #expect(PeerShares(of: connections).most == most) }

    @Test("Each peer has its own share, and can use again what it gives back")
    func taking() throws {
        let (one, other) = (try #require(try peer("192.0.2.1")), try #require(try peer("192.0.2.2")))
        var shares = PeerShares(of: 8)
        for _ in 0..<2 { shares.take(one) }
        #expect(!shares.isOver(one))
        shares.take(one)
        #expect(shares.isOver(one) && !shares.isOver(other))
        shares.take(other)
        #expect(!shares.isOver(other))
        shares.giveBack(one)
        #expect(!shares.isOver(one))
        // Giving back more than was taken does not enlarge the share.
        for _ in 0..<5 { shares.giveBack(other) }
        for _ in 0..<3 { shares.take(other) }
        #expect(shares.isOver(other))
    }

    private func peer(_ address: String) throws -> PeerAddress? {
        PeerAddress(try SocketAddress(ipAddress: address, port: 80))
    }
}
