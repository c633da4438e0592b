import Testing
import VaultModel

@Suite("Requested range")
struct RequestedRangeTests {
    @Test(
        "A request resolves to the bytes that exist",
        arguments: [
            (.whole, 10, 0..<10), (.whole, 0, 0..<0),
            (.from(0), 10, 0..<10), (.from(1), 10, 1..<10), (.from(9), 10, 9..<10), (.from(10), 10, nil),
            (.from(11), 10, nil),
            (.from(0), 0, nil), (.from(.max), 10, nil), (.from(.max), .max, nil),
            (.from(.max - 1), .max, (.max - 1)..<(.max)),
            (.from(-1), 10, nil), (.from(.min), 10, nil),
            (.closed(first: 0, last: 0), 10, 0..<1), (.closed(first: 0, last: 9), 10, 0..<10),
            (.closed(first: 0, last: 10), 10, 0..<10), (.closed(first: 9, last: 9), 10, 9..<10),
            (.closed(first: 10, last: 10), 10, nil), (.closed(first: 0, last: 100), 1000, 0..<101),
            (.closed(first: 5, last: 4), 10, nil), (.closed(first: 0, last: 0), 0, nil),
            (.closed(first: 0, last: .max), 10, 0..<10), (.closed(first: 0, last: .max), .max, 0..<(.max)),
            (.closed(first: .max, last: .max), .max, nil), (.closed(first: -1, last: 5), 10, nil),
            (.suffix(1), 10, 9..<10), (.suffix(10), 10, 0..<10), (.suffix(11), 10, 0..<10), (.suffix(.max), 10, 0..<10),
            (.suffix(0), 10, nil), (.suffix(1), 0, nil), (.suffix(-1), 10, nil), (.suffix(.max), .max, 0..<(.max)),
        ] as [(RequestedRange, Int64, ByteRange?)])
    func resolved(request: RequestedRange, length: Int64, range: ByteRange?) {
        #expect(request.resolved(length: length) == range)
    }

    @Test(
        "The first byte is known without the length, except for a suffix",
        arguments: [
            (.whole, 0), (.from(7), 7), (.closed(first: 3, last: 8), 3), (.suffix(5), nil),
        ] as [(RequestedRange, Int64?)])
    func firstByte(request: RequestedRange, first: Int64?) {
        #expect(request.firstByte == first)
    }

    @Test(
        "Only a closed range names its end, and the largest last byte means to the end",
        arguments: [
            (.whole, nil), (.from(7), nil), (.suffix(5), nil), (.closed(first: 3, last: 8), 9),
            (.closed(first: 3, last: .max - 1), .max), (.closed(first: 3, last: .max), nil),
        ] as [(RequestedRange, Int64?)])
    func endLimit(request: RequestedRange, end: Int64?) {
        #expect(request.endLimit == end)
    }
}
