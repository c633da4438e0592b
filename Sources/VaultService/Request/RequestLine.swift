import VaultModel

/// The first line of a request (RFC 9112 §3), as far as it tells why the parser does not take it.
struct RequestLine: Hashable, Sendable {
    let method: String
    let major: Int
    let minor: Int

    /// Reads a line, its end left out; nil where it has not the form of one.
    init?(_ line: some Sequence<UInt8>) {
        let parts = Array(line).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[0].allSatisfy(Self.isMethodByte),
            parts[2].count == 8, parts[2].starts(with: "HTTP/".utf8), parts[2][parts[2].startIndex + 6] == 0x2E,
            let major = Self.digit(parts[2][parts[2].startIndex + 5]),
            let minor = Self.digit(parts[2][parts[2].startIndex + 7])
        else { return nil }
        method = String(decoding: parts[0], as: UTF8.self)
        self.major = major
        self.minor = minor
    }

    /// Whether it says a version that is to be read as HTTP/1.1 (RFC 9110 §2.5), and that the parser knows not.
    var isLater: Bool { major == 1 && minor > 1 }

    /// The answer to a request with this line, of which the parser made nothing; nil where it is malformed.
    var refusal: Answer? {
        if major != 1 { return ErrorAnswer.unknownVersion }
        // A known method in other letters is one that was spelled wrong.
        return Methods.areKnown(method.uppercased()) ? nil : ErrorAnswer.unknownMethod
    }

    private static func digit(_ byte: UInt8) -> Int? {
        byte >= 0x30 && byte <= 0x39 ? Int(byte - 0x30) : nil
    }

    private static func isMethodByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

/// The methods that the service knows, whether a resource has them or not (RFC 9110 §9, RFC 5789, and QUERY,
/// the safe method with a body).
enum Methods {
    static func areKnown(_ method: String) -> Bool { known.contains(method) }

    private static let known: Set = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]
}
