import Testing
import VaultModel

@testable import MediaVault

@Suite("Those who wait to sign in take turns")
struct SignInTurnsTests {
    @Test("Addresses take turns, each caller in order, and the owner goes before all")
    func turns() {
        var turns = RoundRobin<String>()
        for name in ["a1", "a2", "a3"] { _ = turns.add(name, from: .address([1])) }
        _ = turns.add("b1", from: .address([2]))
        var taken = [turns.next()]
        _ = turns.add("c1", from: .address([]))
        _ = turns.add("owner", from: nil)
        for _ in 0..<5 { taken.append(turns.next()) }
        _ = turns.add("a4", from: .address([1]))
        for _ in 0..<2 { taken.append(turns.next()) }
        #expect(taken == ["a1", "owner", "b1", "a2", "c1", "a3", "a4", nil])
    }

    @Test(
        "So many callers wait from one address and in all; then the fullest address loses its last, but never the owner"
    )
    func bounds() {
        var turns = RoundRobin<Int>()
        let (most, count) = (RoundRobin<Int>.maxOfLine, RoundRobin<Int>.maxCount)
        let own = (0...most).map { turns.add($0, from: .address([0])) }
        #expect(own == Array(repeating: nil, count: most) + [most])
        let others = (most..<count).map { turns.add($0, from: .address([1, UInt8($0 / most)])) }
        #expect(others.allSatisfy { $0 == nil } && turns.count == count)
        // The line of each of the first addresses is full, so a newcomer displaces the last caller of one.
        let displaced = turns.add(100, from: .address([2]))
        #expect((displaced ?? 0) % most == most - 1 && turns.count == count)
        let owner = turns.add(99, from: nil)
        let next = [turns.next(), turns.next()]
        #expect(owner == nil && next == [99, 0])
    }

    @Test("If one caller waits from each of many addresses, a newcomer is refused")
    func crowded() {
        var turns = RoundRobin<Int>()
        for number in 0..<RoundRobin<Int>.maxCount { _ = turns.add(number, from: .address([1, UInt8(number)])) }
        let refused = turns.add(-1, from: .address([2]))
        #expect(refused == -1 && turns.count == RoundRobin<Int>.maxCount)
        // One of them makes way for a device on which the viewer has signed in before.
        let displaced = turns.add(-2, from: Self.viewer(1))
        let next = [turns.next(), turns.next()]
        #expect(displaced != nil && displaced != -2 && next.first == -2 && next.last != displaced)
    }

    private static func viewer(_ number: UInt8) -> SignInLine? {
        ViewerID(bytes: Array(repeating: number, count: ViewerKind.byteCount)).map { .viewer($0) }
    }

    @Test("Viewers on devices that they know take turns with each other, and alternate with the addresses")
    func alternating() {
        var turns = RoundRobin<String>()
        for name in ["v1", "v2", "v3"] { _ = turns.add(name, from: Self.viewer(1)) }
        for name in ["a1", "a2"] { _ = turns.add(name, from: .address([1])) }
        _ = turns.add("w1", from: Self.viewer(2))
        _ = turns.add("b1", from: .address([2]))
        var taken = [turns.next()]
        // A caller that returns as soon as it is answered gets no extra turn.
        _ = turns.add("v4", from: Self.viewer(1))
        for _ in 0..<3 { taken.append(turns.next()) }
        _ = turns.add("owner", from: nil)
        for _ in 0..<6 { taken.append(turns.next()) }
        #expect(taken == ["v1", "a1", "w1", "b1", "owner", "v2", "a2", "v3", "v4", nil])
    }

    @Test("If viewers on devices that they know fill the queue, their last ones make way for an address and a viewer")
    func full() {
        var turns = RoundRobin<Int>()
        let most = RoundRobin<Int>.maxOfLine
        for number in 0..<RoundRobin<Int>.maxCount { _ = turns.add(number, from: Self.viewer(UInt8(number / most))) }
        let ninth = turns.add(-1, from: Self.viewer(0))
        let displaced = [turns.add(-2, from: .address([1])), turns.add(-3, from: Self.viewer(100))]
        #expect(ninth == -1 && turns.count == RoundRobin<Int>.maxCount)
        #expect(displaced.allSatisfy { ($0 ?? 0) % most == most - 1 }, "\(displaced)")
        let next = [turns.next(), turns.next()]
        #expect(next == [0, -2])
    }
}
