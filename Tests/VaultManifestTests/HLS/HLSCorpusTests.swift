import SeededRandom
import Testing
import VaultManifest
import VaultModel

/// The committed playlists, as they stand and after random changes.
@Suite("HLS corpus")
struct HLSCorpusTests {
    private static let files = CorpusFile.all(in: "HLS")
    private static let url = "https://origin.example/films/one/index.m3u8?session=s1"

    @Test("The corpus has a playlist of every kind, with every tag that names a resource")
    func coverage() {
        #expect(Self.files.count >= 120)
        let text = Self.files.map { String(decoding: $0.bytes, as: UTF8.self) }.joined()
        for tag in Self.tags { #expect(text.contains(tag), "\(tag)") }
    }

    @Test("Every playlist of the corpus is led through the vault completely, or refused", arguments: files)
    func corpus(file: CorpusFile) throws {
        do {
            let playlist = try parse(file.bytes)
            #expect(!file.isRefused)
            #expect(try Self.leaks(playlist) == [])
            #expect(try Self.leaks(playlist.selecting(RenditionSelection())) == [])
        } catch let error as ManifestError {
            #expect(file.isRefused, "\(error)")
        }
    }

    @Test("A playlist names exactly the files that are written down beside it", arguments: CorpusFile.expected)
    func references(file: CorpusFile, expected: [String]) throws {
        let base = "https://origin.example/films/one/"
        let found = try parse(file.bytes).references.map { reference in
            let url = reference.url.absoluteString
            let shown = url.hasPrefix(base) ? String(url.dropFirst(base.count)) : url
            return "\(reference.role) \(reference.range?.httpBytes ?? "-") \(shown)"
        }
        #expect(found == expected)
    }

    @Test("A segment that only a variable makes the name of a key leads nowhere", arguments: ["skd://x", "data:,x"])
    func variableKey(value: String) throws {
        let list = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"b\",VALUE=\"\(value)\"\n#EXTINF:6,\n{$b}/1.ts\n#EXT-X-ENDLIST\n"
        #expect(try Self.leaks(parse(Array(list.utf8))) == [])
    }

    @Test("Whatever a playlist contains, a player finds nothing but links of the vault in it")
    func fuzz() throws {
        let run = FuzzRun("HLS fuzzing", rounds: 3000)
        let seed = run.seed
        var random = run.random
        var (led, refused) = (0, 0)
        for _ in 0..<run.rounds {
            let bytes = mutated(&random)
            guard let playlist = try? parse(bytes) else {
                refused += 1
                continue
            }
            led += 1
            let leaks = try Self.leaks(playlist)
            #expect(leaks == [], "seed \(seed): \(String(decoding: bytes, as: UTF8.self))")
            let selection = RenditionSelection(video: .height(Int.random(in: 0...1080, using: &random)))
            #expect(try Self.leaks(playlist.selecting(selection)) == [], "seed \(seed)")
            #expect(playlist.references.count <= 1000, "seed \(seed)")
        }
        #expect(
            led > run.rounds / 10 && refused > run.rounds / 30,
            "both kinds must be frequent enough to prove something; seed \(seed)")
    }

    private func parse(_ bytes: [UInt8]) throws -> HLSPlaylist {
        var limits = ManifestLimits()
        (limits.maxReferences, limits.maxBytes) = (1000, 1 << 20)
        return try HLSPlaylist(bytes, url: MediaURL(Self.url), variables: ["token": "t1"], limits: limits)
    }

    // MARK: What a player would find

    private static let tags = [
        "#EXT-X-MEDIA:", "#EXT-X-I-FRAME-STREAM-INF:", "#EXT-X-IMAGE-STREAM-INF:", "#EXT-X-KEY:", "#EXT-X-SESSION-KEY:",
        "#EXT-X-SESSION-DATA:", "#EXT-X-MAP:", "#EXT-X-PART:", "#EXT-X-PRELOAD-HINT:", "#EXT-X-RENDITION-REPORT:",
        "#EXT-X-DATERANGE:", "#EXT-X-CONTENT-STEERING:",
    ]

    /// Returns what leads a player around the vault: found by searching the text, and by reading it again.
    private static func leaks(_ playlist: HLSPlaylist) throws -> [String] {
        let led = playlist.led
        let again = try HLSPlaylist(led.bytes, url: MediaURL(LedManifest.url))
        let strangers = again.led.references.filter {
            $0.url.host != "vault.example"
                || !($0.url.path.hasPrefix(LedManifest.folder) || $0.url.path == ManifestTarget.refusal)
        }
        let unstable = again.text == led.text ? [] : ["rewriting it again changes it"]
        return unstable + strangers.map(\.url.absoluteString)
            + foundURIs(led.text).filter { !isHarmless($0) }.map(String.init)
    }

    private static func isHarmless(_ uri: Substring) -> Bool {
        uri.isEmpty || uri.hasPrefix(LedManifest.folder) || uri == ManifestTarget.refusal
            || ["data:", "skd:"].contains { uri.lowercased().hasPrefix($0) }
    }

    /// Returns the URIs that a careless player finds: the lines that are no comments, and whatever stands in quotes
    /// behind the name of an attribute, however malformed the list is.
    private static func foundURIs(_ text: String) -> [Substring] {
        text.unicodeScalars.split { $0 == "\n" || $0 == "\r" }.flatMap { scalars -> [Substring] in
            let line = Substring(scalars).drop { $0 == " " || $0 == "\t" || $0 == "\u{FEFF}" }
            guard line.hasPrefix("#") else { return [line.prefix { $0 != " " && $0 != "\t" }] }
            guard tags.contains(where: line.hasPrefix) else { return [] }
            let name = line.hasPrefix("#EXT-X-DATERANGE:") ? "X-ASSET-URI" : "URI"
            let parts = line.split(separator: "=\"", omittingEmptySubsequences: false)
            return zip(parts, parts.dropFirst()).compactMap { before, after in
                let last = before.reversed().prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
                return String(last.reversed()) == name ? after.prefix { $0 != "\"" } : nil
            }
        }
    }

    // MARK: Changes

    private static let tokens =
        tags + [
            "\n", "\r", "\r\n", "\"", ",", "=", "\\", "\0", "\u{2028}", " ", "\t", "#", "{$a}", "{$token}", "{", "@",
            "http://evil.example/x", "//evil.example/x", "file:///etc/passwd", "data:,x", "skd://x", "../../", "?", ":",
            "URI=\"", "URI=\"http://evil.example/k\"", ",URI=\"b\"", "#EXT-X-BYTERANGE:5@6\n", "9223372036854775807",
            "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"http:\"\n", "#EXT-X-STREAM-INF:BANDWIDTH=1\n", "#EXT-X-ENDLIST\n",
            "BYTERANGE=\"1@2\"", "#EXT-X-PREFETCH:", "tvg-logo=\"http://evil.example/l", "\u{85}", "é", "\u{FEFF}",
        ]

    private func mutated(_ random: inout SeededGenerator) -> [UInt8] {
        func pick() -> [UInt8] { Self.files.randomElement(using: &random)?.bytes ?? [] }
        var bytes = pick()
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let low = Int.random(in: 0...bytes.count, using: &random)
            let high = min(bytes.count, low + Int.random(in: 0...40, using: &random))
            switch Int.random(in: 0..<7, using: &random) {
            case 0: if low < bytes.count { bytes[low] = UInt8.random(in: 0...127, using: &random) }
            case 1: bytes.removeSubrange(low..<high)
            case 2: bytes.insert(contentsOf: bytes[low..<high], at: low)
            case 3: bytes = bytes[..<low] + pick().suffix(200)
            default: bytes.insert(contentsOf: Array((Self.tokens.randomElement(using: &random) ?? "").utf8), at: low)
            }
        }
        return bytes
    }
}
