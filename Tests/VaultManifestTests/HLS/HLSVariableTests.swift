import Testing
import VaultManifest
import VaultModel

@Suite("HLS variables")
struct HLSVariableTests {
    private let refused = ManifestTarget.refusal

    @Test("Variables are substituted in URIs before these are resolved, also in other variables")
    func substitution() throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-DEFINE:NAME="host",VALUE="https://cdn.example"
            #EXT-X-DEFINE:NAME="dir",VALUE="{$host}/vod"
            #EXT-X-MAP:URI="{$dir}/init.mp4"
            {$dir}/a{$dir-2}.ts
            {$dir}/{a}/{$}/{$ dir}.ts
            """)
        #expect(playlist.exports == ["host": "https://cdn.example", "dir": "https://cdn.example/vod"])
        let led = playlist.led
        #expect(led.urls == ["https://cdn.example/vod/init.mp4", "https://cdn.example/vod/{a}/{$}/{$%20dir}.ts"])
        #expect(led.text.hasSuffix("#EXT-X-MAP:URI=\"/media/led/1\"\n\(refused)\n/media/led/2"))
    }

    @Test("A multivariant playlist's variables reach only the media playlists that import them")
    func imports() throws {
        let main = try HLSPlaylist(
            "#EXTM3U\n#EXT-X-DEFINE:NAME=\"t\",VALUE=\"x1\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\nv?{$t}\n")
        #expect(main.led.urls == ["https://origin.example/films/one/v?x1"])
        let importing = "#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"t\"\na.ts?{$t}\n"
        let led = try HLSPlaylist(importing, variables: main.exports).led
        #expect(led.urls == ["https://origin.example/films/one/a.ts?x1"])
        #expect(led.text == "#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"t\"\n/media/led/1\n")
        #expect(try HLSPlaylist("#EXTM3U\na.ts?{$t}\n", variables: main.exports).led.text == "#EXTM3U\n\(refused)\n")
    }

    @Test("A reference with an unknown variable is refused: a player might know it")
    func unknown() throws {
        for definition in ["", "#EXT-X-DEFINE:IMPORT=\"t\"\n", "#EXT-X-DEFINE:QUERYPARAM=\"t\"\n"] {
            let led = try HLSPlaylist("#EXTM3U\n\(definition){$t}://evil.example/x.ts\n#EXT-X-MAP:URI=\"{$t}\"\n").led
            #expect(led.text == "#EXTM3U\n\(definition)\(refused)\n#EXT-X-MAP:URI=\"\(refused)\"\n")
        }
    }

    @Test("A parameter of the playlist's own query is written out: the player knows another URL")
    func queryParameters() throws {
        let text = "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"u\"\n#EXT-X-DEFINE:QUERYPARAM=\"v\"\na.ts?u={$u}\n"
        let led = try HLSPlaylist(text, at: "https://origin.example/i.m3u8?x=1&u=a%20b&u=c").led
        #expect(
            led.text
                == "#EXTM3U\n#EXT-X-DEFINE:NAME=\"u\",VALUE=\"a b\"\n#EXT-X-DEFINE:QUERYPARAM=\"v\"\n/media/led/1\n")
        #expect(led.urls == ["https://origin.example/a.ts?u=a%20b"])
    }

    @Test(
        "A parameter that could end its quotes or hide a tag has no value",
        arguments: ["%22", "%0A", "%23", "%5C", "%E2%80%A8", ""])
    func dangerousParameters(value: String) throws {
        let text = "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"u\"\nx{$u}\n"
        let led = try HLSPlaylist(text, at: "https://origin.example/i.m3u8?u=\(value)").led
        #expect(
            led.text
                == (value.isEmpty
                    ? "#EXTM3U\n#EXT-X-DEFINE:NAME=\"u\",VALUE=\"\"\n/media/led/1\n"
                    : "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"u\"\n\(refused)\n"))
    }

    @Test("Names and groups are substituted, too")
    func attributes() throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-DEFINE:NAME="g",VALUE="aac"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="aac",NAME="{$g}!",URI="a.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="{$g}"
            v.m3u8
            """)
        #expect(playlist.renditions.map(\.groups) == [["aac"], ["aac"]])
        #expect(playlist.renditions.map(\.name) == ["aac!", nil])
        #expect(playlist.selecting(RenditionSelection()).text == playlist.text)
    }

    @Test("Variables are substituted in every attribute that says something about a reference")
    func everyAttribute() throws {
        let playlist = try HLSPlaylist(
            """
            #EXTM3U
            #EXT-X-DEFINE:NAME="n",VALUE="10"
            #EXT-X-DEFINE:NAME="r",VALUE="{$n}@5"
            #EXT-X-DEFINE:NAME="id",VALUE="identity"
            #EXT-X-DEFINE:NAME="map",VALUE="MAP"
            #EXT-X-MAP:URI="i",BYTERANGE="{$n}@{$n}"
            #EXT-X-KEY:METHOD=AES-128,URI="k",KEYFORMAT="{$id}"
            #EXT-X-PART:DURATION=1,URI="p",BYTERANGE="{$r}"
            #EXT-X-PART:DURATION=1,URI="p",BYTERANGE="2{$n}"
            #EXT-X-PRELOAD-HINT:TYPE="{$map}",URI="h"
            #EXTINF:6,
            a
            """)
        let led = playlist.led
        #expect(led.references.map(\.range) == [10..<20, nil, 5..<15, 15..<225, nil, nil])
        #expect(led.references.map(\.role) == [.initialization, .key, .segment, .segment, .initialization, .segment])
        #expect(playlist.references.map(\.role) == [.initialization, .key, .segment])
        #expect(led.text.contains("BYTERANGE=\"{$n}@{$n}\""), "players substitute it themselves")
    }

    @Test("A range with an unknown variable is refused with its line", arguments: ["MAP", "PART"])
    func unknownRange(tag: String) {
        #expect(throws: ManifestError.malformed(line: 2, .byteRange)) {
            try HLSPlaylist("#EXTM3U\n#EXT-X-\(tag):URI=\"a\",BYTERANGE=\"{$n}@0\"\n")
        }
    }

    @Test("A definition that is malformed or repeated is refused with its line", arguments: ["", "a b", "{$a}", "é"])
    func malformed(name: String) {
        #expect(throws: ManifestError.malformed(line: 2, .definition)) {
            try HLSPlaylist("#EXTM3U\n#EXT-X-DEFINE:NAME=\"\(name)\",VALUE=\"x\"\n")
        }
        let definition = "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"x\"\n"
        #expect(throws: ManifestError.malformed(line: 3, .definition)) {
            try HLSPlaylist("#EXTM3U\n\(definition)\(definition)")
        }
    }

    @Test("Variables that double one another end at the length of a URL, and their text is bounded")
    func bomb() throws {
        let definitions = (1..<60).map { "#EXT-X-DEFINE:NAME=\"v\($0)\",VALUE=\"{$v\($0 - 1)}{$v\($0 - 1)}\"\n" }
        let text = "#EXTM3U\n#EXT-X-DEFINE:NAME=\"v0\",VALUE=\"aaaaaaaa\"\n" + definitions.joined()
        let playlist = try HLSPlaylist(text + "{$v9}\n{$v59}\n")
        #expect(playlist.led.urls.count == 1, "4096 bytes are a path, and more than 8192 are none")
        #expect(playlist.led.text.hasSuffix("/media/led/1\n\(refused)\n"))
        #expect((playlist.exports.values.map(\.utf8.count).max() ?? 0) <= 8192)
        var limits = ManifestLimits()
        limits.maxURLBytes = 100_000
        #expect(throws: ManifestError.tooLarge(limit: 100_000)) {
            try HLSPlaylist(text + String(repeating: "{$v9}\n", count: 20), limits: limits)
        }
    }
}
