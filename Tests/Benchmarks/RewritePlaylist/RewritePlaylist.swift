import Foundation
import VaultManifest
import VaultModel
import VaultTestSupport

/// Parses and rewrites playlists of 10 000 and 100 000 segments, of several layouts. Ends with 1 if a bound is missed.
///
///     swift run -c release rewrite-playlist
@main
struct RewritePlaylist {
    private static let runs = 9

    static func main() throws {
        var figures = BoundedFigures()
        for (name, line) in layouts {
            let (small, large) = (try time(10_000, line), try time(100_000, line))
            figures.tell("rewriting 10 000 segments, \(name)", small, atMost: 20, unit: " ms")
            figures.tell("100 000 segments ÷ 10 000 segments, \(name)", large / small, atMost: 15)
        }
        exit(figures.areMet ? 0 : 1)
    }

    /// How players find a segment: a name beside the playlist, a URL at another host with a token, a part of one file.
    private static let layouts: [(String, @Sendable (Int) -> String)] = [
        ("relative names", { "#EXTINF:6.006,\nvideo-1080p/segment-\($0).ts\n" }),
        (
            "absolute URLs with tokens",
            {
                "#EXTINF:6.006,\nhttps://edge7.cdn.example/vod/9f8e/video-1080p/segment-\($0).m4s"
                    + "?token=exp=1790000000~acl=/vod/*~hmac=0f1e2d3c4b5a69788796a5b4c3d2e1f0\n"
            }
        ),
        ("byte ranges", { "#EXTINF:6.006,\n#EXT-X-BYTERANGE:\(100_000 + $0)\nall.mp4\n" }),
    ]

    /// Returns the median time to parse and rewrite a playlist, in milliseconds.
    private static func time(_ count: Int, _ line: @Sendable (Int) -> String) throws -> Double {
        let head = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:7\n#EXT-X-MAP:URI=\"init.mp4\"\n"
        let bytes = Array((head + (0..<count).map(line).joined() + "#EXT-X-ENDLIST\n").utf8)
        let url = try MediaURL("https://origin.example/films/one/video/index.m3u8")
        let times = try (0..<runs).map { _ in
            var links = 0
            let time = try ContinuousClock().measure {
                let playlist = try Manifest(bytes, kind: .hls, url: url)
                let output = playlist.rewritten { reference in
                    links += 1
                    return "/media/0123456789abcdef0123456789abcdef/https/" + reference.url.host + reference.url.path
                        + (reference.url.query.map { "?" + $0 } ?? "")
                }
                precondition(output.count > bytes.count, "the links are longer than what stood there")
            }
            precondition(links == count + 1, "every segment must be rewritten")
            return time / .milliseconds(1)
        }
        return times.sorted()[runs / 2]
    }
}
