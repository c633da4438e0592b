import Testing
import VaultModel

@testable import VaultManifest

@Suite("Manifests that name files beside them")
struct DASHLocalTests {
    private static let folder = "https://folder.example/title/"

    /// What a player requests of an MPD that is in a folder, as names.
    private static func names(in bytes: [UInt8]) throws -> [(name: String, role: ManifestReference.Role)] {
        let url = MediaURL(scheme: "https", host: "folder.example", port: nil, path: "/title/manifest.mpd", query: nil)
        return try DASHManifest(bytes, url: url, limits: .standard).references.map { reference in
            let text = reference.url.absoluteString
            #expect(text.hasPrefix(folder), "\(text) is outside the folder")
            return (String(text.dropFirst(folder.count)), reference.role)
        }
    }

    /// Ranges of one file that follow each other count as one.
    private static func once(_ urls: [MediaURL]) -> [MediaURL] {
        urls.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }

    private static func isSafe(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].first?.isNumber == true
            && parts[0].allSatisfy { $0.isNumber || $0 == "-" } && parts[1].allSatisfy { $0.isLetter || $0.isNumber }
    }

    @Test(
        "A player of the copy requests the copies of what it would request of the original, in the same order",
        arguments: CorpusFile.all(in: "DASH").filter { !$0.isRefused && $0.name.hasSuffix(".mpd") })
    func corpus(file: CorpusFile) throws {
        let manifest = try DASHLab(file.bytes).manifest
        guard !manifest.isLive else { return }
        var names = LocalNames()
        let copied = try Self.names(in: manifest.local(&names))
        let sources = Dictionary(names.files.map { ($0.name, $0.url) }) { first, _ in first }
        let wanted = manifest.references.filter { $0.role != .data }
        let held = copied.filter { $0.role != .data }
        // What leads nowhere in the original leads nowhere in the copy.
        let copies = Self.once(held.map { sources[$0.name] ?? DASHLab.origin })
        #expect(copies == Self.once(wanted.map(\.url)), "\(file.name)")
        #expect(names.files.allSatisfy { Self.isSafe($0.name) })
        #expect(Set(names.files.map(\.name)).count == names.files.count)
    }

    @Test("What several Representations inherit is told apart, bases go, and numbers and times keep their meaning")
    func inherited() throws {
        let lab = try DASHLab(
            period: """
                <BaseURL>media/</BaseURL><AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="10" \
                media="$RepresentationID$/$Time$.m4s" initialization="$RepresentationID$/init.mp4"><SegmentTimeline>\
                <S t="5" d="20" r="1"/></SegmentTimeline></SegmentTemplate><Representation id="../a" bandwidth="1"/>\
                <Representation id="b" bandwidth="2"/></AdaptationSet>
                """)
        var names = LocalNames()
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(names.files.map(\.name).contains("2-1.m4s") && text.contains(#"media="2-$Number$.m4s""#))
        #expect(text.contains(#"<S d="20" r="1" t="5"/>"#) && !text.contains("BaseURL") && !text.contains("$Time$"))
        #expect(names.files.map(\.url.path).contains("/title/media/b/25.m4s"))
    }

    @Test("A common length becomes a timeline, so that no player looks for more segments than there are")
    func ends() throws {
        let lab = try DASHLab(
            period: """
                <AdaptationSet mimeType="video/mp4"><Representation id="a" bandwidth="1"><SegmentTemplate \
                timescale="2" duration="3" startNumber="5" media="$Number%05d$.m4s"/></Representation></AdaptationSet>
                """)
        var names = LocalNames()
        let text = String(decoding: lab.manifest.local(&names), as: UTF8.self)
        #expect(text.contains(#"<SegmentTimeline><S d="3" r="2" t="0"/></SegmentTimeline>"#), "\(text)")
        #expect(!text.contains("duration=") || text.contains("mediaPresentationDuration"))
        #expect(names.files.map(\.name) == ["1-5.m4s", "1-6.m4s", "1-7.m4s"])
    }

    @Test("An HLS playlist names files, keys and playlists by numbers, and what nobody plays leads nowhere")
    func hls() throws {
        let list = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-KEY:METHOD=AES-128,URI="../../etc/secret"
            #EXT-X-MAP:URI="a.mp4?token=1"
            #EXTINF:4,
            sub/%2e%2e/1.M4S
            #EXTINF:4,
            https://other.example/2.exe
            #EXT-X-ENDLIST

            """)
        var names = LocalNames()
        let text = String(decoding: Manifest.hls(list).local(&names), as: UTF8.self)
        #expect(names.files.map(\.name) == ["1.ts", "2.mp4", "3.m4s", "4.ts"])
        #expect(text.contains(#"URI="1.ts""#) && text.contains("\n3.m4s\n") && text.contains("\n4.ts\n"))
        let master = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-SESSION-DATA:DATA-ID="x",URI="data.json"
            #EXT-X-STREAM-INF:BANDWIDTH=1
            low/index.txt

            """)
        let top = String(decoding: Manifest.hls(master).local(&names), as: UTF8.self)
        #expect(top.contains("\n5.m3u8\n") && top.contains(ManifestTarget.refusal) && !top.contains("data.json"))
    }
}
