import NIOEmbedded
import Testing

@testable import VaultService

@Suite("Who controls a service")
struct PeerIdentityTests {
    @Test("A service is controlled by its own user and by root, and by nobody else")
    func users() {
        for (user, owner, may) in [
            (1000, 1000, true), (0, 1000, true), (0, 0, true), (1001, 1000, false), (1000, 0, false),
            (65_534, 0, false),
        ] as [(UInt32, UInt32, Bool)] {
            #expect(PeerIdentity.mayControl(user, serviceOf: owner) == may, "user \(user), service of \(owner)")
        }
    }

    @Test("A peer whom the system does not name controls nothing")
    func unknown() async {
        #expect(await !PeerIdentity.mayControl(EmbeddedChannel()))
    }
}
