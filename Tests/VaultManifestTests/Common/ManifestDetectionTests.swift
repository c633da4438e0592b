import Testing
import VaultManifest
import VaultModel

@Suite("Manifest detection")
struct ManifestDetectionTests {
    @Test(
        "A manifest is recognized by its type, else by its path",
        arguments: [
            ("application/vnd.apple.mpegurl", "/a", ManifestKind.hls),
            ("Application/X-MPEGURL; charset=utf-8", "/a.txt", .hls),
            ("audio/mpegurl", "/a", .hls),
            ("application/dash+xml", "/a", .dash),
            ("text/plain", "/live/index.m3u8", .hls),
            ("application/octet-stream", "/a/manifest.MPD", .dash),
            (nil, "/index.m3u8", .hls), (nil, "/list.M3U", .hls),
            ("video/mp4", "/odd.m3u8", nil),
            ("application/octet-stream", "/film.mp4", nil),
            (nil, "/", nil),
        ] as [(String?, String, ManifestKind?)])
    func detection(type: String?, path: String, kind: ManifestKind?) {
        #expect(ManifestDetection.kind(type: type, path: path) == kind)
    }

    @Test(
        "A URI is named like a manifest if its path has the extension of one",
        arguments: [
            "a.m3u8", "/x/a.M3U", "a.mpd", ".mpd", "a.ts", "a.mp4", "m3u8", "a.m3u8x", "a.xm3u8", "a.m3u8?x",
            "a.ts?x=.m3u8",
            "a.mpd#x", "", ".", "a.m3", "a.mpd/",
        ])
    func named(uri: String) throws {
        let path = uri.prefix { $0 != "?" && $0 != "#" }
        let isManifest = !path.hasSuffix("/") && ManifestDetection.kind(type: nil, path: path) != nil
        #expect(ManifestDetection.isNamed(Array(uri.utf8)[...]) == isManifest)
    }

    @Test(
        "A manifest is recognized by its first bytes, if its type says nothing",
        arguments: [
            ("#EXTM3U\n#EXTINF:6,\n", ManifestKind.hls), ("\u{FEFF}#EXTM3U", .hls), ("\r\n #EXTM3U", .hls),
            ("<MPD>", .dash), ("<?xml version=\"1.0\"?>\n<!-- a > b --><MPD xmlns=\"x\">", .dash),
            ("\u{FEFF}<dash:MPD/>", .dash), ("<mpd>", .dash), ("<x:Mpd ", .dash), ("<MPDX>", nil), ("<html><MPD>", nil),
            ("<!-- <MPD>", nil), ("<?", nil),
            ("", nil), ("#EXTINF:6,", nil), ("one.mp3\n", nil), ("\0\0\0 ftyp", nil),
            (String(repeating: " ", count: 2000) + "#EXTM3U", nil),
        ] as [(String, ManifestKind?)])
    func content(head: String, kind: ManifestKind?) {
        #expect(ManifestDetection.kind(of: head.utf8) == kind)
    }
}
