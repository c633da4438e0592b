import Testing
import VaultFetch
import VaultModel

@Suite("A part that begins before what was asked")
struct WiderRangeLabelTests {
    private func label(
        _ range: String, length: String?, _ first: Int64?, _ end: Int64?
    ) throws -> (range: WiderRange, head: OriginHead)? {
        var head = OriginHead(status: 206, fields: ["Content-Range": range])
        if let length { head.fields.append(name: "Content-Length", value: length) }
        let asked = OriginRequest(url: try MediaURL("http://origin.test/film.mp4"), first: first, end: end)
        return WiderRange(head, asked: asked).map { ($0, $0.trimmed(head)) }
    }

    @Test("It gets the label that the requested bytes would have")
    func trimmed() throws {
        let inner = try #require(try label("bytes 0-999/5000", length: "1000", 100, 200))
        #expect(inner.range.wanted == 100..<200)
        #expect(inner.head.fields["Content-Range"] == "bytes 100-199/5000")
        #expect(inner.head.fields["Content-Length"] == "100")
        let shorter = try #require(try label("bytes 0-149/*", length: "150", 100, 200))
        #expect(shorter.head.fields["Content-Range"] == "bytes 100-149/*")
    }

    @Test(
        "A label that begins as asked, ends before it, or contradicts the length is left to the check",
        arguments: [
            ("bytes 100-199/5000", "100", 100), ("bytes 0-99/5000", "100", 100), ("bytes 0-999/5000", "900", 100),
            ("bytes 0-999/5000", nil, 100), ("bytes 200-299/5000", "100", 100), ("bytes 0-999/5000", "1000", nil),
        ] as [(String, String?, Int64?)])
    func untouched(_ range: String, _ length: String?, _ first: Int64?) throws {
        #expect(try label(range, length: length, first, 200) == nil)
    }
}
