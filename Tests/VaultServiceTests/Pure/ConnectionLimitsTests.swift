import Testing

@testable import VaultService

@Suite("Which connection goes (reliability 37, threat 18)")
struct ConnectionLimitsTests {
    private let limits = ConnectionLimits()

    @Test("A head and a body have their time; an answer and a pause between requests are nobody's fault")
    func time() {
        #expect(!limits.isOver(.new, for: .seconds(19)) && limits.isOver(.new, for: .seconds(20)))
        #expect(!limits.isOver(.receiving, for: .seconds(29)) && limits.isOver(.receiving, for: .seconds(30)))
        #expect(!limits.isOver(.answering, for: .seconds(9999)) && !limits.isOver(.idle, for: .seconds(9999)))
    }

    @Test("For another to come, the one between requests goes that has stood still longest")
    func idleFirst() {
        #expect(
            limits.yielding(among: [
                (.answering, .seconds(99)), (.idle, .seconds(3)), (.new, .seconds(5)), (.receiving, .seconds(20)),
            ]) == 2)
    }

    @Test("Where none is, one that stands still within its answer goes; none that gets on, and none that has just come")
    func stalled() {
        #expect(limits.yielding(among: [(.answering, .seconds(2)), (.answering, .seconds(3))]) == 1)
        #expect(limits.yielding(among: [(.answering, .milliseconds(1999)), (.receiving, .seconds(1))]) == nil)
        #expect(limits.yielding(among: [(.idle, .milliseconds(999)), (.new, .zero)]) == nil)
        #expect(limits.yielding(among: []) == nil)
    }

    @Test("Beside the connections there is room for files and origins", arguments: [64, 256, 1024, 4096])
    func descriptors(limit: Int) {
        let connections = DescriptorLimit.connections(of: limit)
        #expect(connections >= 4 && connections + 40 + connections / 3 <= limit)
    }
}
