import Testing
import VaultModel

@Suite("Byte range")
struct ByteRangeTests {
    @Test(
        "The inclusive form ends one byte before the half-open one",
        arguments: [
            (0..<1, "0-0", 1), (0..<101, "0-100", 101), (99..<100, "99-99", 1),
            (5_000_000_000..<5_000_000_010, "5000000000-5000000009", 10),
            (0..<Int64.max, "0-9223372036854775806", .max),
        ] as [(ByteRange, String, Int64)])
    func httpBytes(range: ByteRange, text: String, length: Int64) {
        #expect(range.httpBytes == text)
        #expect(range.length == length)
    }

    @Test("A range printed for HTTP and read as a Range field resolves to itself")
    func roundTrip() {
        for lower in Int64(0)..<20 {
            for upper in (lower + 1)...20 {
                guard case .ranges(let ranges) = RangeHeader("bytes=\((lower..<upper).httpBytes)") else {
                    Issue.record("\(lower)..<\(upper) cannot be read")
                    continue
                }
                #expect(ranges.map { $0.resolved(length: 20) } == [lower..<upper])
            }
        }
    }
}
