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
            (nil, "/index.m3u8", .hls),
            ("video/mp4", "/odd.m3u8", nil),
            ("application/octet-stream", "/film.mp4", nil),
            (nil, "/", nil),
        ] as [(String?, String, ManifestKind?)])
    func detection(type: String?, path: String, kind: ManifestKind?) {
        #expect(ManifestDetection.kind(type: type, path: path) == kind)
    }
}
