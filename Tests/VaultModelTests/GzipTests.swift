import Testing

@testable import VaultModel

@Suite("The format of gzip")
struct GzipTests {
    private static let text = Array(String(repeating: "a feed, ", count: 50_000).utf8)

    @Test("What was compressed comes back, also from several members, and if it grows a thousandfold")
    func roundTrip() throws {
        let small = try #require(Gzip.compressed(Self.text))
        #expect(Gzip.begins(small) && small.count * 100 < Self.text.count)
        #expect(try Gzip.expanded(small, upTo: Self.text.count) == Self.text)
        #expect(try Gzip.expanded(small + small, upTo: 1 << 20) == Self.text + Self.text)
        #expect(Gzip.compressed([]) == nil && Gzip.compressed([1, 2, 3]) == nil)
    }

    @Test("What grows beyond the limit is refused, and so is what is cut short, changed, or something else")
    func refusals() throws {
        let small = try #require(Gzip.compressed(Self.text))
        #expect(throws: Gzip.Failure.tooLarge) { try Gzip.expanded(small, upTo: Self.text.count - 1) }
        #expect(throws: Gzip.Failure.tooLarge) { try Gzip.expanded(small, upTo: 10) }
        #expect(throws: Gzip.Failure.damaged) { try Gzip.expanded(small.dropLast(9) + [], upTo: 1 << 20) }
        var changed = small
        changed[small.count / 2] ^= 0xFF
        #expect(throws: Gzip.Failure.self) { try Gzip.expanded(changed, upTo: 1 << 20) }
        #expect(throws: Gzip.Failure.damaged) { try Gzip.expanded(Array("plain text".utf8), upTo: 1 << 20) }
        #expect(throws: Gzip.Failure.damaged) { try Gzip.expanded([], upTo: 1 << 20) }
    }
}
