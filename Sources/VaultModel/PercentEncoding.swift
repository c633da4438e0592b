/// The percent-encoding used to name resources (RFC 3986 §2).
///
/// Foundation decodes only escapes that form valid UTF-8, but a resource's name must keep every byte.
package enum PercentEncoding {
    /// Normalizes the percent-encoding of a path.
    ///
    /// Decodes the escapes of unreserved characters, writes the other escapes with upper-case digits, and escapes
    /// characters that a URL must not contain. If any `%` does not begin an escape, no escape is changed, because
    /// decoding one after that `%` could turn it into the beginning of a different escape.
    static func normalizingPath(_ text: String) -> String {
        let bytes = Array(escapingIllegal(text).utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == 0x25 else {
                result.append(bytes[index])
                index += 1
                continue
            }
            guard index + 2 < bytes.count, let high = Hex.value(bytes[index + 1], allowsUpperCase: true),
                let low = Hex.value(bytes[index + 2], allowsUpperCase: true)
            else { return String(decoding: bytes, as: UTF8.self) }
            let byte = high << 4 | low
            if isUnreserved(byte) { result.append(byte) } else { result += [0x25, upperDigit(high), upperDigit(low)] }
            index += 3
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Escapes every byte outside ASCII.
    static func escapingNonASCII(_ bytes: some Sequence<UInt8>) -> String { escaping(bytes) { $0 >= 0x80 } }

    /// Escapes the characters that RFC 3986 does not allow in a URL.
    package static func escapingIllegal(_ text: String) -> String {
        escaping(text.utf8) { $0 <= 0x20 || $0 >= 0x7F || #""<>\^`{|}"#.utf8.contains($0) }
    }

    private static func escaping(_ bytes: some Sequence<UInt8>, _ needsEscape: (UInt8) -> Bool) -> String {
        var result: [UInt8] = []
        for byte in bytes {
            if needsEscape(byte) {
                result += [0x25, upperDigit(byte >> 4), upperDigit(byte & 15)]
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Decodes the percent escapes in a string; a `%` that does not begin an escape is left unchanged.
    static func decoded(_ text: some StringProtocol) -> [UInt8] { decoded(Array(text.utf8)) }

    /// Decodes the percent escapes in an array of bytes; a `%` that does not begin an escape is left unchanged.
    package static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x25, index + 2 < bytes.count,
                let high = Hex.value(bytes[index + 1], allowsUpperCase: true),
                let low = Hex.value(bytes[index + 2], allowsUpperCase: true)
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    private static func upperDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
}

/// The path segments `.` and `..`, escaped ones included (RFC 3986 §5.2.4).
package enum DotSegments {
    /// Returns the path with its dot segments resolved; empty segments are kept.
    package static func removed(from path: String) -> String {
        guard contains(path) else { return path }
        var output: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch decoded(segment) {
            case ".": if isLast { output.append("") }
            case "..":
                if !output.isEmpty { output.removeLast() }
                if isLast { output.append("") }
            default: output.append(segment)
            }
        }
        return "/" + output.joined(separator: "/")
    }

    /// Returns whether a segment of the path is `.` or `..`.
    package static func contains(_ path: String) -> Bool {
        path.split(separator: "/").contains { [".", ".."].contains(decoded($0)) }
    }

    /// The maximum number of times that an origin and the proxies in front of it are expected to decode escapes.
    ///
    /// A path whose escapes are nested deeper is treated as if it hid a dot segment.
    private static let maxDecodings = 4

    /// Returns whether an origin might find a dot segment in the path that ``contains(_:)`` does not find.
    ///
    /// A dot segment may be hidden next to an escaped slash or backslash, before a path parameter, behind repeated
    /// escapes or overlong UTF-8, or where an escaped zero byte would end the path.
    package static func mayBeHidden(in path: String) -> Bool {
        guard path.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: ";") }) else { return false }
        var shown = Array(path.utf8)
        for _ in 0..<maxDecodings {
            if mayBeMisread(shown) { return true }
            let decoded = PercentEncoding.decoded(shown)
            guard decoded.count < shown.count else { return false }
            shown = decoded
        }
        return true
    }

    /// Returns whether a lenient origin would find a dot segment or an early end in a path, without further decoding.
    ///
    /// A lenient origin treats a backslash as a slash, and ignores path parameters and trailing white space.
    private static func mayBeMisread(_ path: [UInt8]) -> Bool {
        guard !path.contains(0) else { return true }
        return shortest(path).split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") })
            .contains { segment in
                let name = segment.prefix { $0 != UInt8(ascii: ";") }
                let end = name.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? name.startIndex
                return name[..<end].elementsEqual(".".utf8) || name[..<end].elementsEqual("..".utf8)
            }
    }

    /// Replaces each overlong two-byte encoding of an ASCII character, which is not valid UTF-8, with the single byte.
    private static func shortest(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: { $0 == 0xC0 || $0 == 0xC1 }) else { return bytes }
        var result: [UInt8] = []
        for byte in bytes {
            let isLong = (result.last == 0xC0 || result.last == 0xC1) && byte & 0xC0 == 0x80
            if isLong, let first = result.popLast() {
                result.append((first & 1) << 6 | byte & 0x3F)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// Returns the segment with its escaped dots decoded, because every server reads `%2e` as a dot.
    private static func decoded(_ segment: Substring) -> String {
        segment.count > 6 ? String(segment) : segment.lowercased().replacing("%2e", with: ".")
    }
}
