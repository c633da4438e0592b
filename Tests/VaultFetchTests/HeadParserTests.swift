import Testing
import VaultModel

@testable import VaultFetch

@Suite("The head parser")
struct HeadParserTests {
    /// Feeds the text line by line; returns the parsed heads.
    private static func heads(_ text: String) throws -> [OriginHead] {
        try heads(Array(text.utf8))
    }

    private static func heads(_ bytes: [UInt8]) throws -> [OriginHead] {
        var parser = HeadParser()
        var heads: [OriginHead] = []
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
            if let head = try parser.read(Array(line) + [0x0A]) { heads.append(head) }
        }
        return heads
    }

    @Test("A head is its status and its fields in order")
    func plain() throws {
        let heads = try Self.heads("HTTP/1.1 206 Partial Content\r\nA: 1\r\nb:2\r\nA:  3 \r\n\r\n")
        #expect(heads.map(\.status) == [206])
        #expect(heads[0].fields == HeaderFields(["A": "1", "b": "2", "A": "3"]))
    }

    @Test(
        "An HTTP/2 head without a reason phrase and bare line feeds are accepted",
        arguments: ["HTTP/2 200 \n\n", "HTTP/1.0 200\n\n"])
    func otherSpellings(_ text: String) throws {
        #expect(try Self.heads(text).map(\.status) == [200])
    }

    @Test("Informational responses are skipped and trailers ignored")
    func informational() throws {
        let heads = try Self.heads(
            "HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\n\r\n"
                + "Trailer: 1\r\nHTTP/1.1 500 No\r\n\r\n")
        #expect(heads.map(\.status) == [200])
        #expect(heads[0].fields == HeaderFields(["A": "1"]))
    }

    @Test("A folded line continues its field, and lines that are not fields are ignored")
    func oddLines() throws {
        let heads = try Self.heads(
            "HTTP/1.1 200 OK\r\n X\r\nA: 1\r\n\t2\r\nnothing\r\n: x\r\nB C: x\r\nD: \u{1}\r\nE:\r\n\r\n")
        #expect(heads[0].fields == HeaderFields(["A": "1 2", "E": ""]))
    }

    @Test("A value in UTF-8 is text; values of other bytes stay distinct")
    func bytes() throws {
        let utf8 = try Self.heads("HTTP/1.1 200 OK\r\nETag: \"é\"\r\n\r\n")
        #expect(utf8[0].fields["ETag"] == "\"é\"")
        let prefix = Array("HTTP/1.1 200 OK\r\nETag: ".utf8)
        let one = try Self.heads(prefix + [0x22, 0xE9, 0x22, 0x0D, 0x0A, 0x0D, 0x0A])
        let other = try Self.heads(prefix + [0x22, 0xE8, 0x22, 0x0D, 0x0A, 0x0D, 0x0A])
        #expect(one[0].fields["ETag"] != other[0].fields["ETag"])
    }

    @Test(
        "Text that does not start with a status line is not an answer",
        arguments: ["ICY 200 OK\r\n", "HTTP/1.1\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 +20 OK\r\n", "\r\n"])
    func noStatus(_ text: String) throws {
        let failure = try #require(throws: OriginFailure.self) { try Self.heads(text) }
        #expect(failure.kind == .invalidResponse)
    }

    @Test("A head of 200 fields is read, one of 201 is not")
    func fieldLimit() throws {
        let field = "A: 1\r\n"
        #expect(try Self.heads("HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 200) + "\r\n").count == 1)
        #expect(throws: OriginFailure.self) {
            try Self.heads("HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 201) + "\r\n")
        }
    }

    @Test("Heads of over 64 KiB are refused, as one head or as many informational ones")
    func byteLimit() throws {
        let long = "A: " + String(repeating: "x", count: 65_000) + "\r\n"
        #expect(try Self.heads("HTTP/1.1 200 OK\r\n" + long + "\r\n").count == 1)
        #expect(throws: OriginFailure.self) { try Self.heads("HTTP/1.1 200 OK\r\n" + long + long + "\r\n") }
        #expect(throws: OriginFailure.self) {
            try Self.heads(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 3000))
        }
    }
}
