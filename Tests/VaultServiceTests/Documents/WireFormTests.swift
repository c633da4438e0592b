import Foundation
import MediaVault
import Testing

@testable import VaultService

@Suite("JSON on the wire")
struct WireFormTests {
    @Test("Each document and report keeps its members, and its nulls", arguments: WireForm.all)
    func golden(form: WireForm) throws {
        #expect(try form.roundTrip(form.full) == form.full)
        #expect(try form.roundTrip(form.minimal) == form.minimal)
    }

    @Test(
        "A manifest is complete only if it was fetched as a title, and has no size otherwise",
        arguments: [
            ("video/mp4", "https://a.example/film.mp4", true), ("video/mp4", "https://a.example/film.m3u8", true),
            ("application/dash+xml", "https://a.example/film", false),
            ("text/plain", "https://a.example/a.m3u8?b", false),
        ])
    func manifests(type: String, url: String, isMedia: Bool) throws {
        let text = """
            {"accessed":"2026-11-23T22:00:00Z","added":"2026-11-23T22:15:39Z","bytes":9,"class":"cache",\
            "contentID":null,"cover":null,"duration":null,"etag":null,"expires":null,"generation":1,"held":[[0,9]],"id":null,"mode":null,"name":null,\
            "collection":null,"collectionName":null,"fallbackName":null,"tags":null,"part":false,"subtitles":[],"partBytes":null,"size":9,"title":null,"type":"\(type)","url":"\(url)"}
            """
        let summary = try JSONDecoder().decode(ResourceSummary.self, from: Data(text.utf8))
        let listed = ListedDocument(summary)
        #expect(summary.size == 9 && listed.complete == isMedia && listed.size == (isMedia ? 9 : nil))
        #expect(listed.bytes == 9)
    }
}
