import Foundation
import VaultManifest
import VaultModel
import VaultTestSupport

/// Parses and rewrites manifests of 10 000 and 100 000 segments, of several layouts. Ends with 1 if a bound is missed.
///
///     swift run -c release rewrite-playlist
///
/// The times are processor times, so they also hold on a busy machine.
@main
struct RewritePlaylist {
    private static let runs = 9

    static func main() throws {
        var figures = BoundedFigures()
        for layout in layouts {
            figures.tell(
                "10 000 segments, \(layout.name)", try time(layout, 10_000), atMost: layout.milliseconds, unit: " ms")
            figures.tell(
                "100 000 segments, \(layout.name)", try time(layout, 100_000), atMost: 10 * layout.milliseconds,
                unit: " ms")
        }
        exit(figures.areMet ? 0 : 1)
    }

    private struct Layout {
        let name: String
        let kind: ManifestKind
        /// The bound for 10 000 segments; ten times as many may take ten times as long.
        let milliseconds: Double
        /// The number of references in a manifest with these segments, and its text.
        let links: @Sendable (Int) -> Int
        let text: @Sendable (Int) -> String
    }

    /// How players find a segment: a name beside the playlist, a URL at another host with a token, a part of one file;
    /// an entry of a timeline, an entry of a list.
    private static let layouts = [
        playlist("relative names") { "#EXTINF:6.006,\nvideo-1080p/segment-\($0).ts\n" },
        playlist("absolute URLs") {
            "#EXTINF:6.006,\nhttps://edge7.cdn.example/vod/9f8e/video-1080p/segment-\($0).m4s"
                + "?token=exp=1790000000~acl=/vod/*~hmac=0f1e2d3c4b5a69788796a5b4c3d2e1f0\n"
        },
        playlist("byte ranges") { "#EXTINF:6.006,\n#EXT-X-BYTERANGE:\(100_000 + $0)\nall.mp4\n" },
        description("DASH timeline", milliseconds: 60, links: { _ in 1 }) { count in
            let entries = (0..<count).map { "<S d=\"\(2000 + $0 % 7)\"/>" }.joined()
            return "<SegmentTemplate timescale=\"1000\" media=\"https://cdn.example/$Time$.m4s\"><SegmentTimeline>"
                + entries + "</SegmentTimeline></SegmentTemplate>"
        },
        description("DASH list", milliseconds: 120, links: { $0 }) { count in
            let entries = (0..<count).map { "<SegmentURL media=\"https://cdn.example/v/\($0).m4s\"/>" }.joined()
            return "<SegmentList duration=\"2\">\(entries)</SegmentList>"
        },
    ]

    private static func playlist(_ name: String, _ line: @escaping @Sendable (Int) -> String) -> Layout {
        let head = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:7\n#EXT-X-MAP:URI=\"init.mp4\"\n"
        return Layout(name: name, kind: .hls, milliseconds: 20, links: { $0 + 1 }) { count in
            head + (0..<count).map(line).joined() + "#EXT-X-ENDLIST\n"
        }
    }

    private static func description(
        _ name: String, milliseconds: Double, links: @escaping @Sendable (Int) -> Int,
        _ segments: @escaping @Sendable (Int) -> String
    ) -> Layout {
        Layout(name: name, kind: .dash, milliseconds: milliseconds, links: links) { count in
            "<MPD mediaPresentationDuration=\"PT1H\"><Period><AdaptationSet>\(segments(count))"
                + "<Representation id=\"1\" bandwidth=\"1\"/></AdaptationSet></Period></MPD>"
        }
    }

    /// Returns the median time to parse and rewrite a manifest, in milliseconds.
    private static func time(_ layout: Layout, _ count: Int) throws -> Double {
        let bytes = Array(layout.text(count).utf8)
        let url = try MediaURL("https://origin.example/films/one/video/index")
        let times = try (0..<runs).map { _ in
            var links = 0
            let begun = clock()
            let manifest = try Manifest(bytes, kind: layout.kind, url: url)
            let output = manifest.rewritten { reference in
                links += 1
                return "/media/0123456789abcdef0123456789abcdef/https/" + reference.url.host + reference.url.path
                    + (reference.url.query.map { "?" + $0 } ?? "")
            }
            let time = Double(clock() - begun) / Double(CLOCKS_PER_SEC) * 1000
            precondition(output.count > bytes.count, "the links are longer than what stood there")
            precondition(links == layout.links(count), "every segment must be rewritten")
            return time
        }
        return times.sorted()[runs / 2]
    }
}
