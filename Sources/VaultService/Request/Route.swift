/// What a request target is about, read from its raw text: a router would lose empty path segments.
enum Route: Hashable, Sendable {
    case media, health, unknown
    case api(APIRoute)

    init(target: String) {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        if path.elementsEqual("/healthz".utf8) {
            self = .health
        } else if path.starts(with: "/media/".utf8) {
            self = .media
        } else if let route = APIRoute.allCases.first(where: { path.elementsEqual($0.path.utf8) }) {
            self = .api(route)
        } else {
            self = .unknown
        }
    }
}
