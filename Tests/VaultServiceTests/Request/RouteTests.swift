import Testing

@testable import VaultService

@Suite("Route")
struct RouteTests {
    @Test(
        "A raw target selects its route byte for byte",
        arguments: [
            ("/healthz", Route.health), ("/healthz?x=1", .health), ("/healthz/", .unknown), ("//healthz", .unknown),
            ("/api/v1/status", .api(.status)), ("/api/v1/status?", .api(.status)), ("/api/v1/statusx", .unknown),
            ("/api//v1/status", .unknown),
            ("/media/c/https/host/film.mp4?t=1", .media), ("/media/", .media), ("/media", .unknown),
            ("//media/c", .unknown),
            ("/media?x", .unknown), ("/Media/c", .unknown), ("/x/../media/c", .unknown), ("", .unknown),
            ("*", .unknown), ("/", .page), ("/?x", .page), ("/pages/a/b.js", .page), ("/pages", .unknown),
            ("//pages/", .unknown),
            ("http://127.0.0.1/healthz", .unknown),
        ])
    func route(target: String, expected: Route) {
        #expect(Route(target: target) == expected)
    }
}
