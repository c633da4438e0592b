import NIOHTTP1
import VaultModel

/// What of a request's head the HTTP library leaves unjudged: how its body is delimited, and whom its target names.
enum HeadCheck {
    /// The answer to a request of which nothing else may be read; nil where all is well.
    static func refusal(of head: HTTPRequestHead) -> Answer? {
        if head.headers.contains(name: "transfer-encoding") {
            let codings = head.headers[canonicalForm: "transfer-encoding"].filter { !$0.isEmpty }
            // Where the last coding is another, nobody can tell where the body ends (RFC 9112 §6.3).
            guard codings.last?.isEqualIgnoringCase("chunked") ?? false,
                codings.count(where: { $0.isEqualIgnoringCase("chunked") }) == 1
            else { return ErrorAnswer.malformedCoding }
            guard codings.count == 1 else { return ErrorAnswer.unknownCoding }
        }
        // The target's host is the one that counts (RFC 9112 §3.2.2), and a client says the same in both places.
        if let named = target(of: head.uri), !named.authority.isEqualIgnoringCase(head.headers["host"].first ?? "") {
            return ErrorAnswer.foreignHost
        }
        return nil
    }

    /// Authority and path of a target in absolute form; nil where it is in another.
    static func target(of uri: String) -> (authority: Substring, path: String)? {
        guard let colon = uri.utf8.firstIndex(of: UInt8(ascii: ":")), uri[..<colon].utf8.allSatisfy(isSchemeByte),
            uri.utf8[colon...].starts(with: "://".utf8)
        else { return nil }
        let rest = Substring(uri.utf8[colon...].dropFirst(3))
        let end = rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        let path = String(rest[end...])
        return (rest[..<end], path.utf8.first == UInt8(ascii: "/") ? path : "/" + path)
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
        default: false
        }
    }
}

extension HTTPRequestHead {
    /// Whether its body comes in chunks.
    var isChunked: Bool { headers.contains(name: "transfer-encoding") }
}
