import Testing
import VaultFetch
import VaultModel

@Suite("Content information from an answer")
struct ContentInformationTests {
    private static func information(
        _ fields: KeyValuePairs<String, String>, _ content: ResponseContent, path: String = "/film.mp4",
        method: OriginRequest.Method = .get
    ) throws -> ContentInformation {
        ResponseCheck.information(
            of: OriginHead(status: 200, fields: HeaderFields(fields)),
            asked: OriginRequest(url: try MediaURL("http://origin.test\(path)"), method: method), content: content)
    }

    @Test(
        "The type is the origin's, or guessed from the path if the origin sends none",
        arguments: [
            ("video/webm", "/film.mp4", "video/webm"),
            (nil, "/film.mp4", "video/mp4"),
            ("", "/film.mp4", "video/mp4"),
            ("application/octet-stream", "/film.mp4", "video/mp4"),
            ("Application/Octet-Stream; x=y", "/film.mp4", "video/mp4"),
            ("binary/octet-stream", "/film.mp4", "video/mp4"),
            ("application/octet-stream", "/film.bin", "application/octet-stream"),
            (nil, "/film", nil),
            ("video/mp4, text/html", "/film.mp4", "application/octet-stream"),
            ("page", "/film.mp4", "application/octet-stream"),
        ] as [(String?, String, String?)])
    func types(_ sent: String?, _ path: String, _ type: String?) throws {
        let fields: KeyValuePairs = sent.map { ["content-type": $0] } ?? [:]
        #expect(try Self.information(fields, .whole(length: 1), path: path).type == type)
    }

    @Test("Two fields that name a type name none")
    func twoTypes() throws {
        let fields: KeyValuePairs = ["Content-Type": "video/mp4", "content-type": "text/html"]
        #expect(try Self.information(fields, .whole(length: 1)).type == "application/octet-stream")
    }

    @Test(
        "HEAD accepts Accept-Ranges in any case, GET only a real 206",
        arguments: [
            ("bytes", .head, true), ("Bytes", .head, true), ("none", .head, false), (nil, .head, false),
            ("none, bytes", .head, true), ("bytes", .get, false),
        ] as [(String?, OriginRequest.Method, Bool)])
    func rangeSupport(_ sent: String?, _ method: OriginRequest.Method, _ supports: Bool) throws {
        let fields: KeyValuePairs = sent.map { ["ACCEPT-RANGES": $0] } ?? [:]
        #expect(try Self.information(fields, .whole(length: 1), method: method).supportsRanges == supports)
    }

    @Test("A part proves range support whatever Accept-Ranges says, and its total gives the length")
    func partProvesRanges() throws {
        let information = try Self.information(
            ["Accept-Ranges": "none", "ETag": "\"v1\"", "Content-Length": "2"], .partial(0..<2, total: 1000))
        #expect(
            information
                == ContentInformation(
                    length: 1000, type: "video/mp4", validators: Validators(entityTag: EntityTag(strong: "v1")),
                    supportsRanges: true))
    }

    @Test("Of a 416 only the length is used; its type and tag are the error page's")
    func unsatisfiable() throws {
        let information = try Self.information(
            ["Content-Type": "text/html", "ETag": "\"page\""], .unsatisfiable(total: 1000))
        #expect(
            information
                == ContentInformation(length: 1000, type: "video/mp4", validators: Validators(), supportsRanges: false))
    }
}
