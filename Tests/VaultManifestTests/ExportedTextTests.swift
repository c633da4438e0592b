import Testing
import VaultModel

@testable import VaultManifest

@Suite("The texts of an exported folder")
struct ExportedTextTests {
    private static let url = MediaURL(
        scheme: "https", host: "origin.example", port: nil, path: "/title/index", query: nil)

    /// Returns the copy of a manifest, and what it names.
    private static func copy(_ bytes: [UInt8], _ kind: ManifestKind) throws -> (text: String, names: LocalNames)? {
        let manifest = try Manifest(bytes, kind: kind, url: url)
        guard kind == .hls || !manifest.isLive else { return nil }
        var names = LocalNames(of: manifest.references)
        let text = String(decoding: manifest.local(&names, without: OriginTraces([url])), as: UTF8.self)
        return (text, names)
    }

    @Test(
        "No file of the corpus leaves the name of an origin, a comment or a URL in its copy, and none lacks a file",
        arguments: [("HLS", ManifestKind.hls), ("DASH", .dash)])
    func corpus(folder: String, kind: ManifestKind) throws {
        var count = 0
        for file in CorpusFile.all(in: folder) where !file.isRefused {
            let manifest = try Manifest(file.bytes, kind: kind, url: Self.url)
            guard let (text, names) = try Self.copy(file.bytes, kind) else { continue }
            count += 1
            // Binary data has any letters.
            let pieces = text.split { "\"'<>, \n".contains($0) }.filter { !$0.hasPrefix("data:") }
            for host in Set((manifest.references.map(\.url) + [Self.url]).map(\.host)) {
                #expect(!pieces.contains { $0.lowercased().contains(host) }, "\(file.name) names \(host)")
            }
            let known = ["http://dashif.org/", "skd://"]
            let places = pieces.filter { $0.contains("://") && !known.contains(where: $0.hasPrefix) }
            #expect(places.isEmpty, "\(file.name): \(places)")
            #expect(!text.contains("<!--") && !text.contains("\n# "), "\(file.name)")
            var plain = LocalNames(of: manifest.references)
            switch manifest {
            case .hls(let playlist): _ = playlist.local(&plain)
            case .dash(let manifest): _ = manifest.local(&plain)
            }
            #expect(names.files.compactMap(\.url) == plain.files.compactMap(\.url), "\(file.name)")
        }
        #expect(count > 10)
    }

    @Test(
        "A line that only its publisher understands goes",
        arguments: [
            "# made at https://cms.example/42", "## a.ts", "#EXT-X-SOMETHING:URI=\"https://other.example/log\"",
            "#EXT-X-CUE-OUT:30", "#USP-X-MEDIA:BANDWIDTH=1", "#EXT-X-DEFINE:NAME=\"host\",VALUE=\"cms.example\"",
        ])
    func lines(line: String) throws {
        let list = "#EXTM3U\n\(line)\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n"
        #expect(try Self.copy(Array(list.utf8), .hls)?.text == "#EXTM3U\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n")
    }

    @Test(
        "The length of a segment stays as players read it, and its title goes",
        arguments: [
            (" 2.0,A film", " 2.0,"), ("\t2.0,A film", "\t2.0,"), ("+2.0,A film", "+2.0,"), ("20e-1,x", "20e-1,"),
            ("2.0", "2.0"), (",x", ","), ("A film,x", ","), ("2 A film, x", "2,"),
        ])
    func lengths(written: String, copied: String) throws {
        let list = "#EXTM3U\n#EXTINF:\(written)\na.ts\n#EXT-X-ENDLIST\n"
        #expect(
            try Self.copy(Array(list.utf8), .hls)?.text == "#EXTM3U\n#EXTINF:\(copied)\n1.ts\n#EXT-X-ENDLIST\n")
    }

    @Test(
        "A name that is a place goes, however it is written",
        arguments: ["https://cms.example/42", "https%3A%2F%2Fcms.example%2F42", "HTTPS%3a%2f%2fcms.example"])
    func encoded(name: String) throws {
        let list = """
            #EXTM3U
            #EXT-X-DATERANGE:ID="a",CLASS="\(name)",START-DATE="2026-01-01T00:00:00Z"
            #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://k",KEYFORMAT="\(name)"
            #EXTINF:4,
            a.ts
            #EXT-X-ENDLIST
            """
        let text = try #require(try Self.copy(Array(list.utf8), .hls)?.text)
        #expect(!text.lowercased().contains("cms"))
        #expect(text.contains("KEYFORMAT="), "without it, the key would be an ordinary one")
    }

    @Test("An id that a template was filled with goes if it names a place, and the segments stay")
    func ids() throws {
        let mpd = """
            <MPD mediaPresentationDuration="PT4S"><Period><AdaptationSet>\
            <SegmentTemplate duration="2" media="$RepresentationID$-$Number$.m4s"/>\
            <Representation id="origin.example/42"/><Representation id="a"/></AdaptationSet></Period></MPD>
            """
        let (text, names) = try #require(try Self.copy(Array(mpd.utf8), .dash))
        #expect(!text.contains("origin.example") && text.contains(#"id="a""#))
        #expect(names.files.compactMap(\.url?.path).contains("/title/origin.example/42-2.m4s"))
    }

    @Test(
        "An element that only its publisher understands, or that says where the MPD was, goes",
        arguments: [
            "<!-- made at https://cms.example/42 -->", "<Location>https://cms.example/a.mpd</Location>",
            "<PatchLocation>https://cms.example/p</PatchLocation>",
            #"<UTCTiming schemeIdUri="urn:mpeg:dash:utc:http-iso:2014" value="https://time.example/"/>"#,
            #"<Metrics metrics="a"><Reporting schemeIdUri="urn:x" reportingUrl="https://log.example/"/></Metrics>"#,
            #"<ProgramInformation moreInformationURL="https://cms.example/"/>"#,
            #"<x:thing xmlns:x="urn:x" href="https://cms.example/"/>"#,
        ])
    func elements(element: String) throws {
        let mpd = { (element: String) in
            Array(
                """
                <MPD mediaPresentationDuration="PT4S">\(element)<Period><AdaptationSet><Representation>\
                <BaseURL>a.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>
                """.utf8)
        }
        #expect(try Self.copy(mpd(element), .dash)?.text == Self.copy(mpd(""), .dash)?.text)
    }
}
