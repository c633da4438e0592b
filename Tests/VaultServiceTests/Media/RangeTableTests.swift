import OriginTestSupport
import Testing
import VaultModel

/// Odd `Range` fields as five real servers answer them, and as the vault does.
///
/// Each row is sent on a raw socket, for a resource that is not held and for one that is, and each body is compared
/// with the bytes of the origin.
@Suite("Range table", .timeLimit(.minutes(5)))
struct RangeTableTests {
    /// The expected answer of a row.
    enum Expected: Sendable {
        case part(ByteRange)
        case parts([ByteRange])
        case whole
        case nothing
    }

    /// Each field value, with the expected answer for a resource of 42 835 bytes.
    private static let rows: [(String, Expected)] = [
        ("bytes=0-9", .part(0..<10)), ("bytes=-10", .part(42_825..<42_835)), ("bytes=42834-", .part(42_834..<42_835)),
        ("bytes=-99999999999", .part(0..<42_835)), ("Bytes=0-9", .part(0..<10)),
        ("bytes=0000000000000000000000000-9", .part(0..<10)), ("bytes=0-", .part(0..<42_835)),
        ("bytes=0-0", .part(0..<1)), ("bytes=42834-99999999999", .part(42_834..<42_835)),
        ("bytes=32767-32768", .part(32_767..<32_769)),
        ("bytes=42835-", .nothing), ("bytes=42835-50000", .nothing), ("bytes=-0", .nothing),
        ("bytes=5-2", .nothing), ("bytes=abc", .nothing), ("bytes=-", .nothing), ("bytes=--5", .nothing),
        ("bytes=0x0-9", .nothing), ("bytes=0-9;q=1", .nothing), ("bytes=+0-9", .nothing),
        ("bytes=0-18446744073709551616", .part(0..<42_835)), ("bytes=18446744073709551615-", .nothing),
        ("bytes=0-9,", .part(0..<10)), ("bytes=,0-9", .part(0..<10)), ("bytes=, ,0-9,,", .part(0..<10)),
        ("bytes=,", .whole),
        ("items=0-9", .whole), ("bytes = 0-9", .whole), ("", .whole), ("bytes=", .whole),
        ("bytes=0-0,2-2", .parts([0..<1, 2..<3])), ("bytes=-5, 0-4", .parts([42_830..<42_835, 0..<5])),
        ("bytes=0-4,42835-", .part(0..<5)), ("bytes=42835-,50000-", .nothing),
        ("bytes=0-99,50-149", .whole), ("bytes=0-,0-,0-,0-", .whole),
        (
            "bytes=" + (0..<16).map { "\($0 * 9)-\($0 * 9)" }.joined(separator: ","),
            .parts((0..<16).map { $0 * 9..<$0 * 9 + 1 })
        ),
        ("bytes=" + (0..<17).map { "\($0 * 9)-\($0 * 9)" }.joined(separator: ","), .whole),
        ("bytes=" + (0..<200).map { "\($0 * 9)-\($0 * 9)" }.joined(separator: ","), .whole),
    ]

    private let title = ScriptedResource(seed: 21, length: 42_835)

    private func service<Value: Sendable>(
        of resource: ScriptedResource,
        _ body: @escaping @Sendable (RunningService, MediaURL) async throws -> Value
    ) async throws -> Value {
        let origin = try ScriptedOrigin(resource)
        defer { origin.stop() }
        let url = origin.url("/film.mp4?token=x")
        return try await RunningService.run(over: try await TestVault()) { try await body($0, url) }
    }

    private func check(
        _ answer: (head: RawHead, body: [UInt8]), _ expected: Expected, of media: PseudoRandomMedia, _ field: String
    ) throws {
        let (head, body) = answer
        #expect(Int(head.fields["content-length"] ?? "") == body.count, "\(field)")
        switch expected {
        case .part(let range):
            #expect(head.status == 206, "\(field)")
            #expect(head.fields["content-range"] == "bytes \(range.httpBytes)/\(media.length)", "\(field)")
            #expect(body == media.bytes(range), "\(field)")
        case .parts(let ranges):
            #expect(head.status == 206 && head.fields["content-range"] == nil, "\(field)")
            let parts = try #require(BodyPart.parts(of: body, type: head.fields["content-type"]), "\(field)")
            #expect(parts.map(\.range) == ranges.map { "bytes \($0.httpBytes)/\(media.length)" }, "\(field)")
            #expect(parts.map(\.bytes) == ranges.map { media.bytes($0) }, "\(field)")
            #expect(parts.allSatisfy { $0.type == "video/mp4" }, "\(field)")
        case .whole:
            #expect(head.status == 200 && head.fields["content-range"] == nil, "\(field)")
            #expect(body == media.bytes(0..<media.length), "\(field)")
        case .nothing:
            #expect(head.status == 416, "\(field)")
            #expect(head.fields["content-range"] == "bytes */\(media.length)", "\(field)")
            #expect(head.fields["content-type"] == "application/problem+json", "\(field)")
        }
    }

    @Test("Each row of the range table holds for a resource that is not held yet", arguments: rows)
    func fetched(field: String, expected: Expected) async throws {
        try await service(of: title) { [title] service, url in
            let answer = try #require(try await service.ask("GET", url, ["Range": field]))
            try check(answer, expected, of: title.media, field)
        }
    }

    @Test("Each row of the range table holds for a held resource, on one connection")
    func held() async throws {
        try await service(of: title) { [title] service, url in
            let client = try service.client()
            for field in ["items=0-9"] + Self.rows.map(\.0) {
                let expected = Self.rows.first { $0.0 == field }?.1 ?? .whole
                let answer = try #require(
                    await client.ask("GET", service.target(url), host: service.host, fields: ["Range": field]))
                try check(answer, expected, of: title.media, field)
            }
        }
    }

    @Test("HEAD is 200 with the whole length, whatever its range (RFC 9110 §14.2)")
    func head() async throws {
        try await service(of: title) { [title] service, url in
            let client = try service.client()
            for (field, _) in Self.rows {
                let (head, _) = try #require(
                    await client.ask("HEAD", service.target(url), host: service.host, fields: ["Range": field]))
                #expect(head.status == 200 && head.fields["content-length"] == "42835", "\(field)")
                #expect(head.fields["content-range"] == nil && head.fields["content-type"] == "video/mp4", "\(field)")
            }
            // If a body had followed, the client would misread this answer.
            let answer = try #require(
                await client.ask("GET", service.target(url), host: service.host, fields: ["Range": "bytes=1-2"]))
            try check(answer, .part(1..<3), of: title.media, "bytes=1-2")
        }
    }

    @Test("An empty resource has no ranges", arguments: ["bytes=0-0", "bytes=-0", "bytes=0-", "bytes=0-0,2-2"])
    func empty(field: String) async throws {
        try await service(of: ScriptedResource(length: 0)) { service, url in
            let answer = try #require(try await service.ask("GET", url, ["Range": field]))
            #expect(answer.head.status == 416 && answer.head.fields["content-range"] == "bytes */0")
        }
    }

    @Test(
        "The last bytes of an empty resource are all of it: 200 (RFC 9110 §14.1.2)",
        arguments: ["bytes=-1", "bytes=-99", "bytes=0-0,-1"])
    func lastByteOfEmptyResource(field: String) async throws {
        try await service(of: ScriptedResource(length: 0)) { service, url in
            // Before the resource is known, and after.
            for _ in 0..<2 {
                let answer = try #require(try await service.ask("GET", url, ["Range": field]))
                #expect(answer.head.status == 200 && answer.head.fields["content-length"] == "0")
                #expect(answer.head.fields["content-range"] == nil)
            }
        }
    }

    @Test("Positions beyond 32 bits are exact in a resource of 5 GB")
    func large() async throws {
        let title = ScriptedResource(seed: 22, length: 5_000_000_000)
        try await service(of: title) { service, url in
            for (field, expected) in [
                ("bytes=4294967295-4294967300", .part(4_294_967_295..<4_294_967_301)),
                ("bytes=-1", .part(4_999_999_999..<5_000_000_000)), ("bytes=5000000000-", .nothing),
                ("bytes=0-1,4294967295-4294967300", .parts([0..<2, 4_294_967_295..<4_294_967_301])),
            ] as [(String, Expected)] {
                let answer = try #require(try await service.ask("GET", url, ["Range": field]))
                try check(answer, expected, of: title.media, field)
            }
        }
    }

    @Test("Ten thousand ranges in a header of 64 KB are answered whole, in bounded work")
    func tenThousand() async throws {
        try await service(of: title) { [title] service, url in
            let field = "bytes=" + (0..<10_000).map { "\($0)-\($0)" }.joined(separator: ",").prefix(64_000)
            let answer = try #require(try await service.ask("GET", url, ["Range": field]))
            try check(answer, .whole, of: title.media, "ten thousand")
        }
    }
}
