import Testing
import VaultModel

@testable import VaultFetch

@Suite("The redirect policy")
struct RedirectPolicyTests {
    private static func decide(
        _ status: Int, _ location: String?, from url: String = "http://origin.test/a/b", hops: Int = 0
    ) throws -> RedirectPolicy.Decision {
        let fields: KeyValuePairs = location.map { ["location": $0] } ?? [:]
        return try RedirectPolicy.decide(
            on: OriginHead(status: status, fields: HeaderFields(fields)), from: MediaURL(url), hops: hops)
    }

    @Test("Each redirect status with a Location is followed", arguments: [301, 302, 303, 307, 308])
    func followed(_ status: Int) throws {
        #expect(try Self.decide(status, "c") == .follow(MediaURL("http://origin.test/a/c")))
        #expect(try Self.decide(status, nil) == .deliver)
    }

    @Test(
        "Other statuses are answers, with or without Location",
        arguments: [200, 201, 206, 300, 304, 305, 404, 416, 503])
    func delivered(_ status: Int) throws {
        #expect(try Self.decide(status, "http://elsewhere.test/") == .deliver)
    }

    @Test("A redirect from http to https, or to another host, is allowed")
    func upgrade() throws {
        #expect(try Self.decide(301, "https://other.test/x") == .follow(MediaURL("https://other.test/x")))
    }

    @Test(
        "A redirect from https to http, to another scheme, or to no URL is refused",
        arguments: [
            "http://origin.test/x", "ftp://origin.test/x", "file:///etc/passwd", "http://", "https://exa mple/",
        ])
    func refused(_ location: String) throws {
        let failure = try #require(throws: OriginFailure.self) {
            try Self.decide(302, location, from: "https://origin.test/")
        }
        #expect(failure.kind == .invalidResponse)
    }

    @Test("Ten redirects are followed, an eleventh is not")
    func limit() throws {
        #expect(try Self.decide(302, "c", hops: 9) == .follow(MediaURL("http://origin.test/a/c")))
        let failure = try #require(throws: OriginFailure.self) { try Self.decide(302, "c", hops: 10) }
        #expect(failure.kind == .invalidResponse)
    }
}
