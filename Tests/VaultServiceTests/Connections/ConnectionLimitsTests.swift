import Testing
import VaultModel

@testable import VaultService

@Suite("Which connection is closed")
struct ConnectionLimitsTests {
    private let limits = ConnectionLimits()

    @Test("A head, a body and a pause between requests have time limits; an answer lasts as long as its client reads")
    func time() {
        #expect(!limits.isOver(.new, for: .seconds(19)) && limits.isOver(.new, for: .seconds(20)))
        #expect(!limits.isOver(.receiving, for: .seconds(29)) && limits.isOver(.receiving, for: .seconds(30)))
        #expect(!limits.isOver(.idle, for: .seconds(59)) && limits.isOver(.idle, for: .seconds(60)))
        #expect(!limits.isOver(.answering, for: .seconds(9999)))
    }

    @Test("Connections between requests are closed before those within one, in each group the longest idle first")
    func order() {
        let connections: [(phase: ConnectionLimits.Phase, still: Duration)] = [
            (.answering, .seconds(99)), (.idle, .seconds(3)), (.new, .seconds(5)), (.receiving, .seconds(20)),
            (.answering, .seconds(1)), (.idle, .seconds(1)),
        ]
        #expect(limits.yielding(among: connections, most: 9, within: 9) == [2, 1, 5, 0, 3, 4])
        #expect(limits.yielding(among: connections, most: 2, within: 2) == [2, 1])
    }

    @Test("Several connections between requests are closed at once, but as few as possible within requests")
    func several() {
        let within: [(phase: ConnectionLimits.Phase, still: Duration)] = [
            (.answering, .seconds(9)), (.receiving, .seconds(8)), (.answering, .seconds(7)),
        ]
        #expect(limits.yielding(among: within, most: 4, within: 1) == [0])
        #expect(limits.yielding(among: within + [(.idle, .seconds(2))], most: 4, within: 1) == [3])
        let between = within + [(.idle, .seconds(2)), (.new, .seconds(3))]
        #expect(limits.yielding(among: between, most: 4, within: 1) == [4, 3])
        #expect(limits.yielding(among: between, most: 1, within: 1) == [4])
    }

    @Test("Connections that make progress or are new are not closed")
    func atWork() {
        #expect(limits.yielding(among: [(.idle, .milliseconds(999)), (.answering, .zero)], most: 9, within: 9) == [])
        #expect(limits.yielding(among: [], most: 9, within: 9) == [])
    }

    @Test(
        "The connections leave enough descriptors for files, origins and open segments",
        arguments: [64, 256, 1024, 4096])
    func descriptors(limit: Int) {
        let connections = DescriptorShares.connections(of: limit)
        let segments = DescriptorShares.segments(of: limit)
        // Three descriptors per connection: the client, its origin, and the file that is written.
        #expect(connections >= 4 && segments > 0 && 3 * connections + segments + 40 <= limit)
    }
}
