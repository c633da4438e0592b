import Foundation

/// Takes a URL apart (RFC 3986 §3), for ``MediaURL``.
///
/// Foundation's parser rewrites what it reads; players' relative references need the origin's bytes as they are. Bytes
/// are what is looked at: to a `Character` a slash with a combining mark behind it would be no slash.
enum MediaURLParser {
    static func parse(_ text: String) throws -> MediaURL {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != 0x5C }) else {
            throw invalid("it holds a blank, a control character or a backslash; write them percent-encoded")
        }
        guard text.utf8.count <= 8192 else { throw invalid("it is longer than 8192 bytes") }
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw invalid("it has no scheme; it must begin with http:// or https://")
        }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else { throw invalid("its scheme is not http or https") }
        var rest = Substring(text.utf8[colon...].dropFirst())
        guard rest.utf8.starts(with: "//".utf8) else { throw invalid("two slashes are missing after the scheme") }
        rest = Substring(rest.utf8.dropFirst(2))
        if let hash = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<hash] }

        let authorityEnd = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let (userInfo, host, port) = try authority(rest[..<authorityEnd])
        let target = rest[authorityEnd...]
        let question = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = PercentEncoding.escapingNonASCII(target.utf8[..<(question ?? target.endIndex)])
        let query = question.map { PercentEncoding.escapingNonASCII(target.utf8[$0...].dropFirst()) }
        return MediaURL(
            scheme: scheme, host: host, port: port, path: path.isEmpty ? "/" : DotSegments.removed(from: path),
            query: query, userInfo: userInfo)
    }

    private static func authority(_ text: Substring) throws -> (userInfo: String?, host: String, port: Int?) {
        var rest = text
        var userInfo: String?
        if let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) {
            guard let decoded = String(text[..<at]).removingPercentEncoding else {
                throw invalid("what stands before its host is not percent-encoded text; write % as %25")
            }
            userInfo = decoded
            rest = Substring(text.utf8[at...].dropFirst())
        }
        var port: Int?
        let bracket = rest.utf8.lastIndex(of: UInt8(ascii: "]"))
        if let colon = rest.utf8.lastIndex(of: UInt8(ascii: ":")), bracket.map({ $0 < colon }) ?? true {
            let digits = Substring(rest.utf8[colon...].dropFirst())
            if !digits.isEmpty {
                guard let number = DecimalNumber.exact(digits), (1...65535).contains(number) else {
                    throw invalid("its port is not a number from 1 to 65535")
                }
                port = Int(number)
            }
            rest = rest[..<colon]
        }
        return (userInfo, try host(rest), port)
    }

    private static func host(_ text: Substring) throws -> String {
        if text.first == "[" {
            let inner = text.dropFirst().dropLast()
            guard text.last == "]", inner.contains(":"),
                inner.utf8.allSatisfy({ isHexDigit($0) || $0 == 0x3A || $0 == 0x2E })
            else { throw invalid("its IPv6 address is malformed") }
            return text.lowercased()
        }
        var name = String(text)
        // Looked at before the IDNA mapping: Foundation would drop in silence what is no part of a host.
        guard name.utf8.allSatisfy({ $0 >= 0x80 || isHostByte($0.asciiLowercased) }) else {
            throw invalid("its host holds a character that no host has")
        }
        if !name.utf8.allSatisfy({ $0 < 0x80 }) {
            // Foundation knows the IDNA mapping; only the host is taken from it.
            guard let labels = URLComponents(string: "http://\(name)/")?.encodedHost,
                labels.utf8.allSatisfy({ $0 < 0x80 })
            else {
                throw invalid("its host name cannot be written in ASCII")
            }
            name = labels
        }
        name = name.lowercased()
        guard !name.isEmpty, name.utf8.count <= 255 else {
            throw invalid("it has no host, or one longer than 255 bytes")
        }
        guard name.utf8.allSatisfy({ isHostByte($0) }) else {
            throw invalid("its host holds a character that no host has")
        }
        return name
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (byte >= 0x30 && byte <= 0x39) || (byte.asciiLowercased >= 0x61 && byte.asciiLowercased <= 0x66)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7A) || byte == 0x2D || byte == 0x2E || byte == 0x5F
    }

    private static func invalid(_ why: String) -> VaultError {
        VaultError(.invalidURL, "the URL is malformed: \(why)")
    }
}
