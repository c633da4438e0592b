import Testing
import VaultFetch
import VaultModel

@Suite("Checking an origin's response")
struct ResponseCheckTests {
    private static func asked(
        _ first: Int64? = nil, _ end: Int64? = nil, ifRange: String? = nil, method: OriginRequest.Method = .get
    ) throws -> OriginRequest {
        OriginRequest(
            url: try MediaURL("http://origin.test/film.mp4"), method: method, first: first, end: end, ifRange: ifRange)
    }

    @Test("A whole that is compressed with gzip is taken only by who asks for that, and never a part")
    func gzip() throws {
        let head = OriginHead(status: 200, fields: ["Content-Encoding": "GZIP", "Content-Length": "5"])
        #expect(ResponseCheck.isGzip(head))
        #expect(
            try ResponseCheck.content(of: head, asked: Self.asked(), takesGzip: true) == .whole(length: 5))
        for (status, fields) in [
            (200, ["Content-Encoding": "br"]), (200, ["Content-Encoding": "gzip, br"]),
            (206, ["Content-Encoding": "gzip", "Content-Range": "bytes 0-4/5"]),
        ] as [(Int, HeaderFields)] {
            let head = OriginHead(status: status, fields: fields)
            #expect(throws: OriginFailure.self) {
                try ResponseCheck.content(of: head, asked: Self.asked(status == 206 ? 0 : nil), takesGzip: true)
            }
        }
    }

    private static func content(
        _ status: Int, _ fields: KeyValuePairs<String, String>, _ asked: OriginRequest
    ) throws -> ResponseContent {
        try ResponseCheck.content(of: OriginHead(status: status, fields: HeaderFields(fields)), asked: asked)
    }

    struct Accepted: Sendable {
        let fields: KeyValuePairs<String, String>
        let first: Int64
        let end: Int64?
        let content: ResponseContent
    }

    @Test(
        "A 206 that starts at the requested offset is a part",
        arguments: [
            Accepted(
                fields: ["Content-Range": "bytes 0-99/1000"], first: 0, end: 100,
                content: .partial(0..<100, total: 1000)),
            Accepted(
                fields: ["Content-Range": "bytes 0-100/1000", "Content-Length": "101"], first: 0, end: 101,
                content: .partial(0..<101, total: 1000)),
            Accepted(
                fields: ["content-range": "Bytes 5-999/1000"], first: 5, end: nil,
                content: .partial(5..<1000, total: 1000)),
            Accepted(
                fields: ["Content-Range": "bytes 0-99/*"], first: 0, end: 100, content: .partial(0..<100, total: nil)),
            // Shorter than requested: the caller requests the rest.
            Accepted(
                fields: ["Content-Range": "bytes 0-9/1000"], first: 0, end: 100,
                content: .partial(0..<10, total: 1000)),
            // Cut at the end of the representation.
            Accepted(
                fields: ["Content-Range": "bytes 900-999/1000"], first: 900, end: 5000,
                content: .partial(900..<1000, total: 1000)),
            Accepted(
                fields: ["Content-Range": "bytes 0-99/1000", "Content-Encoding": "identity"], first: 0, end: 100,
                content: .partial(0..<100, total: 1000)),
            // Words that are no coding.
            Accepted(
                fields: ["Content-Range": "bytes 0-99/1000", "Content-Encoding": "UTF-8, binary"], first: 0, end: 100,
                content: .partial(0..<100, total: 1000)),
            Accepted(
                fields: ["Content-Range": "bytes 0-99/1000", "Content-Length": "100, 100"], first: 0, end: 100,
                content: .partial(0..<100, total: 1000)),
            // Beyond four gigabytes.
            Accepted(
                fields: ["Content-Range": "bytes 4294967295-4294967300/5000000000"], first: 4_294_967_295,
                end: 4_294_967_301, content: .partial(4_294_967_295..<4_294_967_301, total: 5_000_000_000)),
        ])
    func parts(_ row: Accepted) throws {
        #expect(try Self.content(206, row.fields, Self.asked(row.first, row.end)) == row.content)
    }

    struct Refused: Sendable {
        let status: Int
        let fields: KeyValuePairs<String, String>
        var first: Int64? = 0
        var end: Int64? = 100
    }

    @Test(
        "A response that cannot be right is an invalid response",
        arguments: [
            // No label, two labels, another unit, an invalid one.
            Refused(status: 206, fields: [:]),
            Refused(status: 206, fields: ["Content-Range": "bytes 0-99/1000", "content-range": "bytes 0-99/1000"]),
            Refused(status: 206, fields: ["Content-Range": "items 0-99/1000"]),
            Refused(status: 206, fields: ["Content-Range": "bytes 99-0/1000"]),
            Refused(status: 206, fields: ["Content-Range": "bytes 0-99/99"]),
            Refused(status: 206, fields: ["Content-Range": "bytes */1000"]),
            Refused(status: 206, fields: ["Content-Range": "bytes 0-18446744073709551616/*"]),
            // Earlier, later, longer than requested.
            Refused(status: 206, fields: ["Content-Range": "bytes 0-99/1000"], first: 50),
            Refused(status: 206, fields: ["Content-Range": "bytes 50-99/1000"]),
            Refused(status: 206, fields: ["Content-Range": "bytes 0-100/1000"]),
            // A part that was not requested.
            Refused(status: 206, fields: ["Content-Range": "bytes 0-99/1000"], first: nil, end: nil),
            // Lengths that contradict the label or each other, or are invalid.
            Refused(status: 206, fields: ["Content-Range": "bytes 0-99/1000", "Content-Length": "101"]),
            Refused(
                status: 206,
                fields: ["Content-Range": "bytes 0-99/1000", "Content-Length": "100", "content-length": "99"]),
            Refused(status: 200, fields: ["Content-Length": "-1"]),
            Refused(status: 200, fields: ["Content-Length": "ten"]),
            Refused(status: 200, fields: ["Content-Length": ""]),
            Refused(status: 200, fields: ["Content-Length": "9223372036854775808"]),
            Refused(status: 200, fields: ["Content-Length": "100, 99"]),
            // Several parts, encoded content.
            Refused(
                status: 206,
                fields: ["Content-Type": "Multipart/ByteRanges; boundary=x", "Content-Range": "bytes 0-99/1000"]),
            Refused(status: 206, fields: ["Content-Range": "bytes 0-99/1000", "Content-Encoding": "gzip"]),
            Refused(status: 200, fields: ["Content-Encoding": "gzip"]),
            Refused(status: 200, fields: ["Content-Encoding": "identity, br"]),
            Refused(status: 200, fields: ["Content-Encoding": "utf-8, X-GZIP"]),
            Refused(status: 200, fields: ["Content-Encoding": "\"gzip\";q=1"]),
            Refused(status: 200, fields: ["Content-Encoding": "brotli"]),
            // A part labelled as the whole.
            Refused(status: 200, fields: ["Content-Range": "bytes 100-199/1000", "Content-Length": "100"]),
            Refused(status: 200, fields: ["Content-Range": "bytes 0-99/1000", "Content-Length": "100"]),
            // A refusal of a range that exists, or of no range at all.
            Refused(status: 416, fields: ["Content-Range": "bytes */1000"]),
            Refused(status: 416, fields: ["Content-Range": "bytes */1000"], first: nil, end: nil),
            // Statuses that do not answer a request for bytes.
            Refused(status: 100, fields: [:]), Refused(status: 201, fields: [:]), Refused(status: 204, fields: [:]),
            Refused(status: 205, fields: [:]), Refused(status: 302, fields: [:]), Refused(status: 304, fields: [:]),
            Refused(status: 600, fields: [:]), Refused(status: 0, fields: [:]),
        ])
    func lies(_ row: Refused) throws {
        let failure = try #require(throws: OriginFailure.self) {
            try Self.content(row.status, row.fields, Self.asked(row.first, row.end))
        }
        #expect(failure.kind == .invalidResponse)
    }

    @Test("A 200 is the whole representation, whether a range was requested or not")
    func whole() throws {
        #expect(try Self.content(200, ["Content-Length": "1000"], Self.asked()) == .whole(length: 1000))
        #expect(try Self.content(200, ["Content-Length": "1000"], Self.asked(5, 10)) == .whole(length: 1000))
        #expect(try Self.content(200, [:], Self.asked()) == .whole(length: nil))
        #expect(
            try Self.content(200, ["Content-Length": "5", "Transfer-Encoding": "chunked"], Self.asked())
                == .whole(length: nil))
        #expect(
            try Self.content(200, ["Content-Range": "bytes 0-999/1000", "Content-Length": "1000"], Self.asked())
                == .whole(length: 1000))
    }

    @Test("HEAD takes the length from Content-Length")
    func headLength() throws {
        #expect(
            try Self.content(200, ["Content-Length": "1000"], Self.asked(method: .head)) == .whole(length: 1000)
        )
    }

    @Test("A 416 gives the length")
    func unsatisfiable() throws {
        #expect(
            try Self.content(416, ["Content-Range": "bytes */1000"], Self.asked(1000)) == .unsatisfiable(total: 1000))
        #expect(try Self.content(416, [:], Self.asked(1000)) == .unsatisfiable(total: nil))
    }

    @Test(
        "An error status is passed on with its Retry-After",
        arguments: [400, 401, 403, 404, 410, 429, 451, 500, 503, 599])
    func refusals(_ status: Int) throws {
        let failure = try #require(throws: OriginFailure.self) {
            try Self.content(status, ["Retry-After": "120", "Content-Length": "7"], Self.asked(0, 100))
        }
        #expect(failure.kind == .refused(status: status, retryAfter: 120))
    }

    @Test(
        "Retry-After is seconds, or a date relative to the response's own, and at most a week",
        arguments: [
            (["Retry-After": "0"], 0), (["Retry-After": "120"], 120), (["Retry-After": "-1"], nil),
            (["Retry-After": "soon"], nil), ([:], nil),
            (["Retry-After": "99999999999999999999"], 604_800), (["Retry-After": "604801"], 604_800),
            (["Retry-After": "604799"], 604_799), (["Retry-After": "9223372036854775807"], 604_800),
            (["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"], 604_800),
            (["Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"], 60),
            (["Retry-After": "Sun, 06 Nov 1994 08:48:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"], 0),
            (["Retry-After": "Wed, 01 Mar 2000 00:00:00 GMT", "Date": "Mon, 28 Feb 2000 00:00:00 GMT"], 172_800),
            (["Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT", "Date": "Wed, 31 Dec 2025 23:59:59 GMT"], 1),
            (["Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT"], nil),
            (["Retry-After": "Sun, 66 Nov 1994 08:50:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"], nil),
        ] as [(KeyValuePairs<String, String>, Int?)])
    func retryAfter(_ fields: KeyValuePairs<String, String>, seconds: Int?) throws {
        let failure = try #require(throws: OriginFailure.self) { try Self.content(503, fields, Self.asked()) }
        #expect(failure.kind == .refused(status: 503, retryAfter: seconds))
    }

    @Test("No failure repeats a URL, a header value or a token")
    func reasonsAreDiscreet() throws {
        let asked = OriginRequest(url: try MediaURL("http://origin.test/secret.mp4?token=secret"), first: 0)
        for (status, fields) in [
            (206, ["Content-Range": "secret"]), (200, ["Content-Encoding": "secret, gzip"]), (403, ["X": "secret"]),
            (302, ["Location": "http://secret/"]),
        ] as [(Int, KeyValuePairs)] {
            let failure = try #require(throws: OriginFailure.self) { try Self.content(status, fields, asked) }
            #expect(!failure.description.contains("secret"))
        }
    }
}
