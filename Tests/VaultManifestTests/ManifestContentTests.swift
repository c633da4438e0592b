import Testing
import VaultModel

@testable import VaultManifest

@Suite("Manifests by their first bytes")
struct ManifestContentTests {
    @Test(
        "A manifest is recognised by how it begins",
        arguments: [
            ("#EXTM3U\n#EXTINF:1,\na.ts\n", .hls), ("\u{FEFF}#EXTM3U\r\n", .hls), ("#EXTM3U", .hls),
            ("<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\">", .dash), ("<?xml version=\"1.0\"?>\n<MPD>", .dash),
            ("\u{FEFF} \n<!-- film -->\n<dash:MPD>", .dash),
            ("<!DOCTYPE MPD [<!ENTITY a 'b'>]><MPD>", .dash), ("<!DOCTYPE x><mpd>", .dash), ("<x:mPd>", .dash),
            ("<!-- \(String(repeating: "x", count: 2000)) --><x:MPD>", .dash),
            ("", nil), ("#EXTM3", nil), ("#!/bin/sh", nil), ("<a xmlns=\"urn:MPD\">", nil), ("MPD", nil),
            ("<html>", nil),
            ("<svg xmlns=\"http://www.w3.org/2000/svg\"/>", nil), ("<", nil), ("\u{FEFF}", nil),
        ] as [(String, ManifestKind?)])
    func table(text: String, kind: ManifestKind?) {
        #expect(ManifestContent.kind(of: Array(text.utf8)) == kind)
    }

    @Test(
        "What some player takes for a playlist counts as one, and is refused when it is parsed",
        arguments: [
            "[playlist]\nFile1=http://10.0.0.1/", "[Reference]\nRef1=http://10.0.0.1/",
            "# mpv EDL v0\nhttp://10.0.0.1/",
            "<?xml version='1.0'?><SmoothStreamingMedia Url='x'/>", "<ASX><ref href='http://10.0.0.1/'/></ASX>",
            "<?xml version='1.0'?><playlist xmlns='http://xspf.org/ns/0/'/>", "<smil/>",
        ])
    func otherLists(text: String) throws {
        let bytes = Array(text.utf8)
        let kind = try #require(ManifestContent.kind(of: bytes))
        let url = try MediaURL("https://a.example/film.mp4")
        #expect(throws: ManifestError.notAManifest) { try Manifest(bytes, kind: kind, url: url) }
    }

    @Test("A manifest behind ID3 tags, in UTF-16 or in UTF-32 counts as one, and is refused when it is parsed")
    func disguised() throws {
        let (list, xml) = ("#EXTM3U\n#EXT-X-TARGETDURATION:1\n", "<?xml version='1.0'?><MPD/>")
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 10] + Array(repeating: 0, count: 10)
        func wide(_ text: String, _ before: Int, _ after: Int) -> [UInt8] {
            text.utf8.flatMap { Array(repeating: 0, count: before) + [$0] + Array(repeating: 0, count: after) }
        }
        for text in [list, xml] {
            let plain = Array(text.utf8)
            for bytes in [
                tag + plain, tag + tag + plain, [0xFF, 0xFE] + wide(text, 0, 1), [0xFE, 0xFF] + wide(text, 1, 0),
                wide(text, 0, 1), wide(text, 1, 0), wide(text, 3, 0), wide(text, 0, 3),
            ] {
                let kind = try #require(ManifestContent.kind(of: bytes), "\(bytes.prefix(24))")
                let url = try MediaURL("https://a.example/film.mp4")
                #expect(throws: ManifestError.self) { try Manifest(bytes, kind: kind, url: url) }
            }
        }
        #expect(
            ManifestContent.bytesNeeded(after: tag + [0xFF, 0xFB, 0x90, 0]) == tag.count + 4, "sound follows the tag")
        let long = Array("ID3".utf8) + [4, 0, 0, 0, 1, 0, 0] + Array(repeating: 0, count: 10)
        #expect(ManifestContent.bytesNeeded(after: long) > 16_384, "what follows the tag is waited for")
    }

    @Test("A list of URLs counts as a playlist, whatever its first lines say; subtitles and scripts do not")
    func bareLists() {
        #expect(ManifestContent.kind(of: Array("http://10.0.0.1/a.ts\n".utf8)) == .hls)
        #expect(ManifestContent.kind(of: Array("# a comment\n\nrtsp://10.0.0.1/a\n".utf8)) == .hls)
        for text in [
            "WEBVTT\n\n00:00.000 --> 00:01.000\nhttp://a.example/", "1\n00:00:01,000 --> 00:00:02,000\na",
            "# VobSub\nsize: 1x1",
        ] {
            #expect(ManifestContent.kind(of: Array(text.utf8)) == nil, "\(text)")
        }
    }

    @Test("Media are not taken for manifests, whatever they contain")
    func media() {
        for start: [UInt8] in [[0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70], [0x47, 0x40], [0x1A, 0x45, 0xDF, 0xA3]] {
            #expect(ManifestContent.kind(of: start + Array("<MPD>#EXTM3U".utf8)) == nil)
            let longer = start + Array(repeating: 1, count: 20)
            #expect(ManifestContent.bytesNeeded(after: longer) == longer.count, "nothing more is waited for")
        }
    }

    @Test(
        "A few first bytes are withheld only if they may begin a text",
        arguments: [
            ([], false), ([0, 0], false), (Array("#E".utf8), true), (Array("#EXT".utf8), true),
            (Array("http://a".utf8), true), ([0, 0, 0, 0x18], false), ([0xFF, 0xFB, 0x90], false),
            (Array("\u{FEFF}#EXTM3U".utf8), true), ([0x1A, 0x45, 0xDF, 0xA3], false), (Array("  <MPD".utf8), true),
            ([0, 0x23, 0, 0x45], true), (Array("#EXTM3U\n#EXT-X-V".utf8), true),
        ] as [([UInt8], Bool)])
    func mayBeginText(start: [UInt8], isWithheld: Bool) {
        #expect(ManifestContent.mayBeginText(start) == isWithheld)
    }
}
