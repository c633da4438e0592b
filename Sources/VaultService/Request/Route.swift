/// What a request target is about, read from its raw text: a router would lose empty path segments.
enum Route: Hashable, Sendable {
    case media, health, status, unknown

    init(target: String) {
        switch target.utf8.prefix(while: { $0 != UInt8(ascii: "?") }) {
        case let path where path.elementsEqual("/healthz".utf8): self = .health
        case let path where path.elementsEqual("/api/v1/status".utf8): self = .status
        case let path where path.starts(with: "/media/".utf8): self = .media
        default: self = .unknown
        }
    }
}
