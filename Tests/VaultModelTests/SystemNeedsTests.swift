import Testing
import VaultModel

@Suite("The limits of the system that a process needs")
struct SystemNeedsTests {
    private let needs = SystemNeeds(processors: 2, stack: 8 << 20)

    @Test("A limit that is too low is named with both numbers and how to raise it", arguments: SystemLimit.allCases)
    func refused(_ limit: SystemLimit) throws {
        let least = needs.least(limit)
        #expect(needs.refusal(limit, of: least) == nil && needs.refusal(limit, of: .max) == nil)
        let error = try #require(needs.refusal(limit, of: least - 1024))
        let numbers = [.files, .threads].contains(limit) ? [0, least] : [least / 1024 - 1, least / 1024]
        for number in numbers { #expect(error.message.contains(" \(number)")) }
        #expect(error.code == .storage && error.message.contains("(Limit") && error.message.contains("ulimit -"))
    }

    @Test("More processors and larger stacks need more memory, and a stack without a limit is not counted as endless")
    func stacks() {
        for limit in [SystemLimit.addresses, .data] {
            #expect(SystemNeeds(processors: 64, stack: 8 << 20).least(limit) > needs.least(limit))
            #expect(SystemNeeds(processors: 2, stack: 64 << 20).least(limit) > needs.least(limit))
            #expect(SystemNeeds(processors: 2, stack: .max).least(limit) < needs.least(limit))
            #expect(SystemNeeds(processors: 2, stack: nil).least(limit) < needs.least(limit))
        }
    }

    @Test("The fewer addresses there are, the fewer arenas the allocator has, but always one")
    func arenas() {
        let least = needs.least(.addresses)
        #expect(needs.arenas(underAddresses: least) == 1 && needs.arenas(underAddresses: .max) == nil)
        #expect(needs.arenas(underAddresses: least + (512 << 20)) == 4)
    }
}
