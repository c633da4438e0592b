import OriginTestSupport
import SeededRandom
import Testing

@testable import MediaVault

@Suite("Names within media", .timeLimit(.minutes(5)))
struct NamesInMediaTests {
    private static func tags(of bytes: [UInt8]) throws -> MediaTags {
        try MediaTags(
            of: MediaBytes(length: Int64(bytes.count)) { position, count in
                #expect(position >= 0 && position < bytes.count && (1...ID3Tags.maxBytes).contains(count))
                return Array(bytes[Int(position)...].prefix(count))
            })
    }

    private static func name(in bytes: [UInt8]) throws -> String? { try tags(of: bytes).name }

    private static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    // MARK: MP4

    private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        big(content.count + 8, 4) + type.unicodeScalars.map { UInt8($0.value) } + content
    }

    /// Returns an MP4 with the header of a movie.
    static func movie(version: UInt8 = 0, scale: Int, _ duration: Int) -> [UInt8] {
        let size = version == 1 ? 8 : 4
        let header = [version, 0, 0, 0] + big(7, size) + big(8, size) + big(scale, 4) + big(duration, size)
        return box("ftyp", Array("isom".utf8)) + box("moov", box("iods", []) + box("mvhd", header + big(1, 60)))
    }

    @Test("How long an MP4 plays is in the header of its movie, in units that this states")
    func duration() throws {
        for (bytes, milliseconds) in [
            (Self.movie(scale: 600, 54_300), 90_500), (Self.movie(version: 1, scale: 90_000, 1 << 33), 95_443_717),
            (Self.movie(scale: 1000, 1), 1), (Self.movie(scale: 0, 5), nil), (Self.movie(scale: 1000, 0), nil),
            (Self.movie(scale: 1000, Int(UInt32.max)), nil), (Self.movie(version: 1, scale: 1000, -1), nil),
            (Self.movie(version: 1, scale: 1, 1 << 60), nil), (Self.movie(scale: 3000, 1), nil),
            (Self.film("A film"), nil), (Array(Self.movie(scale: 600, 54_300).dropLast(80)), nil), ([], nil),
            (Self.tag(4, Self.frame("TIT2", 4, [3, 0x41])), nil),
        ] as [([UInt8], Int64?)] { #expect(try Self.tags(of: bytes).duration == milliseconds) }
    }

    @Test("How long media plays is told once it is fetched")
    func fetched() async throws {
        func answer(_ bytes: [UInt8]) -> @Sendable (ScriptedRequest) -> ScriptedAnswer {
            { request in
                var answer = ScriptedAnswer(
                    200,
                    fields: [
                        "Content-Length": "\(bytes.count)", "Content-Type": "video/mp4", "Cache-Control": "max-age=0",
                    ])
                if request.method == "GET" { answer.body = [.bytes(bytes)] }
                return answer
            }
        }
        let fixture = try await VaultFixture(ScriptedResource(length: 1))
        fixture.origin.answer(with: answer(Self.movie(scale: 600, 54_300)))
        let vault = try await fixture.open()
        for try await _ in try await vault.read(fixture.url) {}
        #expect(try await vault.titles.summary(of: fixture.url)?.duration == nil, "only what is fetched is looked into")
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.summary(of: fixture.url)?.duration == 90_500)
        try await vault.titles.remove(MediaReference(fixture.url))
        fixture.origin.answer(with: answer(Self.movie(scale: 1000, 1234)))
        for try await _ in vault.download(fixture.url) {}
        #expect(try await vault.titles.summary(of: fixture.url)?.duration == 1234)
        await vault.close()
    }

    private static func film(_ name: String, isQuickTime: Bool = false, before: [UInt8] = []) -> [UInt8] {
        let data = box("data", big(1, 4) + big(0, 4) + Array(name.utf8))
        let list = box("hdlr", [1, 2, 3]) + box("ilst", box("\u{A9}too", []) + box("\u{A9}nam", data))
        let meta = box("meta", (isQuickTime ? [] : [0, 0, 0, 0]) + list)
        return box("ftyp", Array("isom".utf8)) + before + box("moov", box("mvhd", []) + box("udta", meta))
    }

    @Test("The name is that of the moov box, before or after the media, with 32 or 64 bits of length")
    func mp4() throws {
        #expect(try Self.name(in: Self.film("A film")) == "A film")
        #expect(try Self.name(in: Self.film("Ein  Film\n", isQuickTime: true)) == "Ein Film")
        let media = Self.big(1, 4) + Array("mdat".utf8) + Self.big(16 + 5, 8) + [1, 2, 3, 4, 5]
        #expect(try Self.name(in: Self.film("Später", before: media)) == "Später")
        #expect(try Self.name(in: Self.film("")) == nil)
        #expect(try Self.name(in: Self.film(String(repeating: "n", count: 900)))?.count == 200)
    }

    // MARK: ID3

    private static func safe(_ number: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(number >> ($0 * 7) & 0x7F) } }

    private static func tag(_ version: UInt8, flags: UInt8 = 0, _ frames: [UInt8]) -> [UInt8] {
        Array("ID3".utf8) + [version, 0, flags] + safe(frames.count) + frames + [0xFF, 0xFB]
    }

    private static func frame(_ id: String, _ version: UInt8, _ content: [UInt8]) -> [UInt8] {
        switch version {
        case 2: Array(id.utf8) + big(content.count, 3) + content
        case 3: Array(id.utf8) + big(content.count, 4) + [0, 0] + content
        default: Array(id.utf8) + safe(content.count) + [0, 0] + content
        }
    }

    @Test("The name is that of an ID3 tag of any version and encoding")
    func id3() throws {
        let other = Self.frame("TPE1", 4, [3] + Array(repeating: 0x41, count: 300))
        #expect(try Self.name(in: Self.tag(4, other + Self.frame("TIT2", 4, [3] + Array("Lied ü".utf8)))) == "Lied ü")
        #expect(try Self.name(in: Self.tag(3, Self.frame("TIT2", 3, [0, 0x4C, 0xFC, 0, 0x58]))) == "Lü")
        #expect(try Self.name(in: Self.tag(2, Self.frame("TT2", 2, [0] + Array("Old".utf8)))) == "Old")
        #expect(try Self.name(in: Self.tag(3, Self.frame("TIT2", 3, [1, 0xFF, 0xFE, 0x4C, 0, 0xFC, 0]))) == "Lü")
        #expect(try Self.name(in: Self.tag(4, Self.frame("TIT2", 4, [2, 0, 0x4C, 0, 0xFC]))) == "Lü")
        // Unsynchronised: a zero follows each byte of ones, and is not counted in the size.
        let plain = Self.frame("TIT2", 3, [1, 0xFF, 0xFE, 0x4C, 0])
        let sent = plain.flatMap { $0 == 0xFF ? [$0, 0] : [$0] }
        #expect(try Self.name(in: Self.tag(3, flags: 0x80, sent)) == "L")
        #expect(try Self.name(in: Self.tag(4, Self.frame("TPE1", 4, [3, 0x41]))) == nil)
    }

    @Test("Other media, and damaged media of any kind, have no name and end no process")
    func damaged() throws {
        #expect(try Self.name(in: []) == nil)
        #expect(try Self.name(in: Array("RIFF....WAVE".utf8)) == nil)
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let whole = [
            Self.film("A film", before: Self.box("free", [])),
            Self.tag(4, Self.frame("TIT2", 4, [1, 0xFF, 0xFE, 1, 2])),
            Self.movie(scale: 600, 54_300), Self.movie(version: 1, scale: 600, 54_300),
            Self.tag(3, flags: 0xC0, Self.frame("TIT2", 3, [0, 1])), Self.tag(2, Self.frame("TT2", 2, [0, 1])),
        ]
        for _ in 0..<4000 {
            var bytes = whole[Int.random(in: 0..<whole.count, using: &random)]
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] =
                    [0, 1, 0x7F, 0x80, 0xFF].randomElement(
                        using: &random) ?? 0
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            #expect(try Self.tags(of: bytes).duration.map { $0 > 0 } ?? true, "seed \(seed)")
            let name = try Self.name(in: bytes)
            #expect(name.map { !$0.isEmpty && $0.count <= 200 } ?? true, "seed \(seed)")
        }
    }
}
