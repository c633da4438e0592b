import Testing
import VaultModel

@testable import VaultManifest

@Suite("A playlist that names files beside it")
struct HLSLocalTests {
    private static let folder = "https://folder.example/film/"

    /// Returns the copy of a playlist, and the names in it.
    private static func copy(of list: HLSPlaylist) -> (text: String, names: LocalNames) {
        var names = LocalNames(of: list.references)
        let text = String(decoding: list.local(&names), as: UTF8.self)
        return (text, names)
    }

    @Test(
        "A player of the copy requests the copies of what it would request of the original, in the same order",
        arguments: CorpusFile.all(in: "HLS").filter { !$0.isRefused })
    func corpus(file: CorpusFile) throws {
        let list = try HLSPlaylist(
            file.bytes, url: MediaURL("https://origin.example/films/one/index.m3u8"), variables: [:], limits: .standard)
        let (text, names) = Self.copy(of: list)
        let copied = try HLSPlaylist(text, at: Self.folder + "index.m3u8")
        let sources = Dictionary(names.files.map { (Self.folder + $0.name, $0.url) }) { first, _ in first }
        // For a refused resource and for a gap, there is an empty file.
        let copies = copied.references.compactMap { sources[$0.url.absoluteString] ?? nil }
        #expect(copies == list.references.filter { $0.role != .data }.map(\.url))
        #expect(copied.led.urls.allSatisfy { sources[$0] != nil }, "\(copied.led.urls)")
        #expect(!text.contains(ManifestTarget.refusal))
    }

    @Test("It names files, keys and playlists by numbers, with extensions that players know")
    func names() throws {
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
        let (text, names) = Self.copy(of: list)
        #expect(names.files.map(\.name) == ["1.ts", "2.mp4", "3.m4s", "4.ts"])
        #expect(text.contains(#"URI="1.ts""#) && text.contains("\n3.m4s\n") && text.contains("\n4.ts\n"))
        let master = try HLSPlaylist("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow/index.txt\n")
        #expect(Self.copy(of: master).text == "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n1.m3u8\n")
    }

    @Test(
        "A line that says nothing without what the title lacks is not in the copy",
        arguments: [
            #"#EXT-X-DATERANGE:ID="a",CLASS="com.apple.hls.interstitial",X-ASSET-URI="ad/index.m3u8""#,
            #"#EXT-X-DATERANGE:ID="a",X-ASSET-LIST="ad/list.json",X-ASSET-URI="ad/index.m3u8""#,
            #"#EXT-X-PART:DURATION=1,URI="1.part.ts""#, #"#EXT-X-PRELOAD-HINT:TYPE=PART,URI="9.part.ts""#,
            #"#EXT-X-RENDITION-REPORT:URI="../other/index.m3u8",LAST-MSN=2"#, "#EXT-X-PREFETCH:9.ts",
            #"#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="licence",KEYFORMAT="com.microsoft.playready""#,
            #"#EXT-X-SESSION-DATA:DATA-ID="a",URI="data.json""#, "#EXTALBUMARTURL:https://cover.example/1.jpg",
            #"#EXT-X-CONTENT-STEERING:SERVER-URI="steering.json""#, "a remark",
        ])
    func gone(line: String) throws {
        let list = try HLSPlaylist("#EXTM3U\n#EXTINF:4,\na.ts\n\(line)\n#EXTINF:4,\nb.ts\n#EXT-X-ENDLIST\n")
        let (text, names) = Self.copy(of: list)
        #expect(text == "#EXTM3U\n#EXTINF:4,\n1.ts\n#EXTINF:4,\n2.ts\n#EXT-X-ENDLIST\n")
        #expect(names.files.map(\.name) == ["1.ts", "2.ts"])
    }

    @Test("A playlist that never changes, and does not say where it ends, says it in the copy")
    func end() throws {
        let list = try HLSPlaylist("#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:4,\na.ts")
        let text = "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n"
        #expect(Self.copy(of: list).text == text)
        #expect(Self.copy(of: try HLSPlaylist("#EXTM3U\na.ts\n")).text == "#EXTM3U\n1.ts\n", "a bare list has no tags")
    }

    @Test("What the title has anyway is named wherever it stands")
    func shared() throws {
        let list = try HLSPlaylist(
            "#EXTM3U\n#EXT-X-PART:DURATION=1,URI=\"a.ts\",BYTERANGE=\"9@0\"\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n")
        #expect(Self.copy(of: list).text.contains(#"#EXT-X-PART:DURATION=1,URI="1.ts",BYTERANGE="9@0""#))
    }

    @Test("A gap stays, because segments are counted, and so does the key of a DRM system: without content")
    func empty() throws {
        let keys = """
            #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://one",KEYFORMAT="com.apple.streamingkeydelivery"
            #EXT-X-KEY:METHOD=SAMPLE-AES-CTR,URI="data:text/plain;base64,AAAA",KEYFORMAT="urn:uuid:one"

            """
        let list = try HLSPlaylist(
            """
            #EXTM3U
            \(keys)#EXT-X-KEY:METHOD=SAMPLE-AES,URI="licence",KEYFORMAT="com.microsoft.playready"
            #EXTINF:4,
            1.m4s
            #EXT-X-GAP
            #EXTINF:4,
            2.m4s
            #EXTINF:4,
            #EXT-X-GAP
            3.m4s
            #EXT-X-ENDLIST

            """)
        let (text, names) = Self.copy(of: list)
        #expect(
            text == """
                #EXTM3U
                \(keys)#EXT-X-KEY:METHOD=SAMPLE-AES,URI="1.ts",KEYFORMAT="com.microsoft.playready"
                #EXTINF:4,
                2.m4s
                #EXT-X-GAP
                #EXTINF:4,
                3.m4s
                #EXTINF:4,
                #EXT-X-GAP
                3.m4s
                #EXT-X-ENDLIST

                """)
        #expect(names.files.map(\.name) == ["1.ts", "2.m4s", "3.m4s"])
        #expect(names.files.map(\.url?.path) == [nil, "/films/one/1.m4s", nil])
    }
}
