import Testing
import VaultFetch
import VaultModel

@Suite("Checking whether a known representation is current (RFC 9111 §4.3.3)")
struct ValidationCheckTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    private static func isSame(
        _ status: Int, _ fields: KeyValuePairs<String, String>, tag: String? = "\"v1\"", date: String? = date,
        method: OriginRequest.Method = .head
    ) throws -> Bool {
        let validators = Validators(entityTag: tag.flatMap { EntityTag($0) }, lastModified: date)
        let request = OriginRequest(
            url: try MediaURL("http://origin.test/film.mp4"), method: method, first: method == .get ? 0 : nil,
            end: method == .get ? 1 : nil, ifChangedFrom: validators)
        return try ValidationCheck.isSame(
            OriginHead(status: status, fields: HeaderFields(fields)), asked: request,
            known: KnownRepresentation(validators: validators, length: 1000))
    }

    @Test("A 304 confirms it, unless it names another tag")
    func notModified() throws {
        #expect(try Self.isSame(304, [:]))
        #expect(try Self.isSame(304, ["ETag": "\"v1\""]))
        #expect(try Self.isSame(304, ["ETag": "W/\"v1\""]), "the tag is compared weakly")
        #expect(try Self.isSame(304, ["ETag": "W/\"v1\""], tag: "W/\"v1\""))
        #expect(try Self.isSame(304, [:], tag: nil))
        #expect(try !Self.isSame(304, ["ETag": "\"v2\""]))
    }

    @Test("A 304 to a request without a validator is an invalid response")
    func baseless() {
        let failure = #expect(throws: OriginFailure.self) { try Self.isSame(304, [:], tag: nil, date: nil) }
        #expect(failure?.kind == .invalidResponse)
    }

    @Test("Any other response is checked by validators and length")
    func others() throws {
        #expect(try Self.isSame(200, ["ETag": "\"v1\"", "Content-Length": "1000"]))
        #expect(try !Self.isSame(200, ["ETag": "\"v1\"", "Content-Length": "999"]))
        #expect(try !Self.isSame(200, ["ETag": "\"v2\"", "Content-Length": "1000"]))
        #expect(try !Self.isSame(200, ["Content-Length": "1000"]))
        #expect(try Self.isSame(206, ["ETag": "\"v1\"", "Content-Range": "bytes 0-0/1000"], method: .get))
        #expect(try !Self.isSame(206, ["ETag": "\"v2\"", "Content-Range": "bytes 0-0/70"], method: .get))
        let refusal = #expect(throws: OriginFailure.self) { try Self.isSame(404, [:]) }
        #expect(refusal?.kind == .refused(status: 404, retryAfter: nil))
    }
}
