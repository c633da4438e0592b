import MediaVault
import Testing

@testable import VaultService

/// How `cat --range` cuts its range from the whole body of an origin without range support.
@Suite struct ByteWindowTests {
    private static let media = Array(UInt8(0)..<100)

    @Test(
        "The requested range is cut from the whole body, however the body is split",
        arguments: [
            .whole, .from(0), .from(99), .closed(first: 10, last: 19), .closed(first: 90, last: 500), .suffix(1),
            .suffix(500),
        ]
            as [RequestedRange],
        [1, 7, 10, 100])
    func cuts(_ range: RequestedRange, _ step: Int) throws {
        let expected = try #require(range.resolved(length: 100))
        var window = try ByteWindow(range, length: 100)
        #expect(Self.written(through: &window, step) == Array(UInt8(expected.lowerBound)..<UInt8(expected.upperBound)))
        try window.check()
    }

    @Test("Nothing past the end of the range is requested") func ends() throws {
        var window = try ByteWindow(.closed(first: 10, last: 19), length: 100)
        #expect(window.cut(Array(Self.media[..<19])) == [10, 11, 12, 13, 14, 15, 16, 17, 18])
        #expect(!window.isDone)
        #expect(window.cut([19, 20]) == [19])
        #expect(window.isDone)
    }

    @Test(
        "A range outside the whole is refused",
        arguments: [.from(100), .closed(first: 100, last: 200), .suffix(0)] as [RequestedRange])
    func outside(_ range: RequestedRange) {
        let error = #expect(throws: VaultError.self) { try ByteWindow(range, length: 100) }
        #expect(error?.code == .unsatisfiableRange)
        #expect(error?.length == 100)
    }

    @Test("If the length is unknown, a range past the end is detected at the end") func unknownLength() throws {
        var window = try ByteWindow(.from(100), length: nil)
        #expect(Self.written(through: &window, 10).isEmpty)
        #expect(throws: VaultError.self) { try window.check() }
        var within = try ByteWindow(.closed(first: 98, last: 300), length: nil)
        #expect(Self.written(through: &within, 10) == [98, 99])
        try within.check()
    }

    @Test("If the length is unknown, a suffix range is refused") func suffixOfUnknown() {
        let error = #expect(throws: VaultError.self) { try ByteWindow(.suffix(5), length: nil) }
        #expect(error?.code == .unsatisfiableRange)
    }

    private static func written(through window: inout ByteWindow, _ step: Int) -> [UInt8] {
        var written: [UInt8] = []
        for start in stride(from: 0, to: 100, by: step) where !window.isDone {
            written += window.cut(Array(media[start..<min(start + step, 100)]))
        }
        return written
    }
}
