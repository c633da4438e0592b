import MediaVault
import Testing
import VaultModel

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

    @Test("Media are not taken for manifests, whatever they contain")
    func media() {
        for start: [UInt8] in [[0, 0, 0, 0x20, 0x66, 0x74, 0x79, 0x70], [0x47, 0x40], [0x1A, 0x45, 0xDF, 0xA3]] {
            #expect(ManifestContent.kind(of: start + Array("<MPD>#EXTM3U".utf8)) == nil)
            #expect(start.first.map(ManifestContent.mayBegin) == false)
        }
    }
}
