import Testing
import VaultModel

@testable import VaultService

@Suite("Which web pages may send requests")
struct CrossSiteCheckTests {
    private let own = "http://127.0.0.1:8300"

    private func verdict(
        _ origin: [String], _ site: String?, referer: String? = nil, allowing origins: [String] = []
    ) throws -> CrossSiteCheck.Verdict {
        try CrossSiteCheck(allowing: origins).verdict(origin: origin, site: site, referer: referer, own: own)
    }

    @Test("Programs, typed URLs and the service's own pages are allowed", arguments: [nil, "none", "same-origin"])
    func own(site: String?) throws {
        #expect(try verdict([], site) == .own)
        #expect(try verdict([own], site) == .own)
        #expect(try verdict([], site, referer: "https://elsewhere.example/") == .own)
    }

    @Test(
        "Pages of other sites are refused",
        arguments: [
            (["http://evil.test"], "cross-site"), (["http://evil.test"], nil), (["null"], "cross-site"),
            (["null"], nil),
            ([], "cross-site"), ([], "same-site"), ([], "something-new"), ([], "cross-site, same-origin"),
            (["http://127.0.0.1:8301"], "same-site"), (["https://127.0.0.1:8300"], nil), ([""], nil),
            (["http://127.0.0.1:8300", "http://127.0.0.1:8300"], nil), (["http://127.0.0.1:8300 "], nil),
        ] as [([String], String?)])
    func foreign(origin: [String], site: String?) throws {
        #expect(try verdict(origin, site) == .foreign)
        #expect(try verdict(origin, site, allowing: ["https://kiosk.example"]) == .foreign)
    }

    @Test("A page of an allowed origin is allowed by its Origin, or by its Referer if it sends no Origin")
    func allowed() throws {
        let origins = ["https://Kiosk.example", "http://tv.example:8080"]
        #expect(
            try verdict(["https://kiosk.example"], "cross-site", allowing: origins)
                == .allowed("https://kiosk.example"))
        #expect(try verdict(["http://tv.example:8080"], nil, allowing: origins) == .allowed("http://tv.example:8080"))
        #expect(
            try verdict([], "cross-site", referer: "https://kiosk.example/page?x=1", allowing: origins)
                == .allowed("https://kiosk.example"))
        for origin in ["http://kiosk.example", "https://kiosk.example:8443", "https://kiosk.example.evil.test"] {
            #expect(try verdict([origin], "cross-site", allowing: origins) == .foreign, "\(origin)")
            #expect(try verdict([], "cross-site", referer: origin + "/", allowing: origins) == .foreign, "\(origin)")
        }
        #expect(
            try verdict(["http://evil.test"], "cross-site", referer: "https://kiosk.example/", allowing: origins)
                == .foreign)
        #expect(
            try verdict([], "cross-site", referer: "https://kiosk.example@evil.test/", allowing: origins) == .foreign)
    }

    @Test(
        "Text that is not an origin cannot be allowed",
        arguments: [
            "*", "null", "", "kiosk.example", "https://kiosk.example/", "https://kiosk.example/x", "file:///x",
            "https://user@kiosk.example", "https://*.example", "https://kiosk.example?x", "https://kiosk.example:443",
        ])
    func noOrigin(text: String) {
        let error = #expect(throws: VaultError.self) { try CrossSiteCheck(allowing: [text]) }
        #expect(error?.code == .invalidArgument)
    }
}
