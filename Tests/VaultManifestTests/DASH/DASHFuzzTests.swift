import SeededRandom
import Testing
import VaultModel

@testable import VaultManifest

@Suite("DASH fuzzing")
struct DASHFuzzTests {
    /// The material of changed manifests, besides pieces of the corpus.
    private static let tokens = [
        "https://evil.example/", "//evil.example/", "/evil", "../", "..", "./", "\\", "%2e%2e/", "file:///etc/passwd",
        "data:,x",
        "javascript:x", "http://127.0.0.1/", "$Number$", "$RepresentationID$", "$Time%09d$", "$", "$$", "&#9;", "&#10;",
        "&amp;",
        "&#x2F;", " ", "\t", "\n", "?", "#", "\"", "'", "<", ">", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<?x?>",
        "<!DOCTYPE a>",
        "<BaseURL>https://evil.example/</BaseURL>", "<BaseURL>../x/</BaseURL>", "<BaseURL>a:b</BaseURL>",
        "<Location>//evil.example</Location>",
        "<SegmentTemplate media=\"https://evil.example/$Number$\"/>",
        "<SegmentTemplate media=\"$RepresentationID$\" duration=\"1\"/>",
        "<SegmentList><SegmentURL media=\"/evil\"/></SegmentList>", "<Initialization sourceURL=\"//evil.example/i\"/>",
        " id=\"//evil.example/\"",
        " r=\"-1\"", " r=\"999999999\"", " d=\"0\"", " t=\"9223372036854775807\"", " type=\"dynamic\"",
        "999999999999999999999", "-1", "0",
        " x:media=\"https://evil.example/$Number$\"", " _media=\"//evil.example/$Number$\"", "<baseURL>//evil.example/",
        "<!--><BaseURL>//evil.example/</BaseURL>-->", "<?x ><BaseURL>//evil.example/</BaseURL></?x>?>",
        "</Representation>", "<Representation id=\"../../..\">", "</Period>", "<Period>", "é", "\u{FEFF}", "\0",
    ].map { Array($0.utf8) }

    @Test("Whatever a manifest is changed to, its players ask nobody but the vault")
    func changes() throws {
        let run = FuzzRun("DASH fuzzing", rounds: 2000)
        let seed = run.seed
        var random = run.random
        let corpus = try DASHCorpus.names.map { try DASHCorpus.bytes($0) }
        var limits = ManifestLimits.standard
        limits.maxReferences = 2000
        var accepted = 0
        for round in 0..<run.rounds {
            let bytes = Self.changed(corpus, &random)
            guard let lab = try? DASHLab(bytes, limits: limits) else { continue }
            accepted += 1
            #expect(lab.manifest.references.count <= limits.maxReferences)
            let choice = RenditionSelection(video: Bool.random(using: &random) ? .best : .worst)
            #expect(lab.manifest.selecting(choice).references.count <= limits.maxReferences)
            let rewritten: RewrittenMPD
            do {
                rewritten = try lab.rewritten()
            } catch {
                Issue.record("round \(round) of seed \(seed): what was written is refused: \(error)")
                continue
            }
            #expect(
                rewritten.manifest.rewritten { _ in nil } == rewritten.bytes,
                "round \(round) of seed \(seed): rewriting it again changes it")
            let strays = rewritten.strays
            if !strays.isEmpty {
                Issue.record("round \(round) of seed \(seed): \(strays)\n\(String(decoding: bytes, as: UTF8.self))")
            }
        }
        // Changes that no parser accepts would show nothing.
        #expect(accepted > run.rounds / 7)
    }

    private static func changed(_ corpus: [[UInt8]], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = corpus.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
            case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 0...40, using: &random)))
            case 2:
                let other = corpus.randomElement(using: &random) ?? []
                let start = Int.random(in: 0...other.count, using: &random)
                bytes.insert(contentsOf: other[start..<min(other.count, start + 80)], at: place)
            default:
                // Most changes go to where values begin and end: they keep the document well-formed.
                let quotes = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\"") || bytes[$0] == UInt8(ascii: ">") }
                let target = (quotes.randomElement(using: &random) ?? 0) + 1
                let token = tokens.randomElement(using: &random) ?? []
                bytes.insert(contentsOf: token, at: min(target, bytes.count))
            }
        }
        return bytes
    }
}
