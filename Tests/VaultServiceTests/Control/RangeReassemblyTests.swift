import MediaVault
import NIOHTTP1
import Testing
import VaultModel

@testable import VaultService

@Suite("Reading through a service")
struct RangeReassemblyTests {
    private static let media = Array(UInt8(0)..<100)

    private func head(_ fields: HTTPHeaders, tag: String = "\"v1\"") -> HTTPResponseHead {
        var fields = fields
        fields.add(name: "ETag", value: tag)
        return HTTPResponseHead(version: .http1_1, status: .ok, headers: fields)
    }

    private func partial(_ range: Range<Int64>) -> HTTPResponseHead {
        head(["Content-Range": ContentRange.bytes(range, total: 100).description])
    }

    @Test(
        "An answer that delivers every byte is the last",
        arguments: [RequestedRange.from(90), .suffix(10), .closed(first: 90, last: 200)])
    func whole(range: RequestedRange) throws {
        var reading = RangeReassembly(range)
        try reading.begin(partial(90..<100))
        #expect(Array(reading.cut(Array(Self.media[90...]))) == Array(Self.media[90...]))
        try reading.finish()
        #expect(reading.isDone)
    }

    @Test(
        "The rest of a shortened answer is requested next",
        arguments: [RequestedRange.from(10), .closed(first: 10, last: 99)])
    func shortened(range: RequestedRange) throws {
        var reading = RangeReassembly(range)
        try reading.begin(partial(10..<40))
        _ = reading.cut(Array(Self.media[10..<40]))
        try reading.finish()
        #expect(!reading.isDone && reading.fields.first(name: "Range") == "bytes=40-99")
        try reading.begin(partial(40..<100))
        #expect(Array(reading.cut(Array(Self.media[40...]))) == Array(Self.media[40...]))
        try reading.finish()
        #expect(reading.isDone)
    }

    @Test("Only the range is taken from a whole answer, and after an interruption the rest is requested")
    func window() throws {
        var reading = RangeReassembly(.closed(first: 20, last: 59))
        try reading.begin(head(["Content-Length": "100"]))
        #expect(Array(reading.cut(Array(Self.media[..<30]))) == Array(Self.media[20..<30]))
        #expect(reading.hasAdvanced && reading.fields.first(name: "Range") == "bytes=30-59")
        try reading.begin(head(["Content-Length": "100"]))
        #expect(!reading.hasAdvanced)
        #expect(Array(reading.cut(Self.media)) == Array(Self.media[30..<60]))
        try reading.finish()
        #expect(reading.isDone)
    }

    @Test("An answer without bytes is not requested again")
    func nothing() throws {
        var reading = RangeReassembly(.from(10))
        try reading.begin(partial(10..<40))
        let error = #expect(throws: VaultError.self) { try reading.finish() }
        #expect(error?.code == .closed)
    }

    @Test("Two versions are never joined")
    func changed() throws {
        var reading = RangeReassembly(.whole)
        try reading.begin(head(["Content-Length": "100"]))
        _ = reading.cut(Array(Self.media[..<30]))
        let error = #expect(throws: VaultError.self) {
            try reading.begin(head(["Content-Length": "100"], tag: "\"v2\""))
        }
        #expect(error?.code == .changed)
    }

    @Test("Reading an empty title ends at once")
    func empty() throws {
        var reading = RangeReassembly(.whole)
        try reading.begin(head(["Content-Length": "0"]))
        try reading.finish()
        #expect(reading.isDone)
    }
}
