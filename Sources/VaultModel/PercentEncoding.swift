/// Percent-encoding as far as naming a resource needs it (RFC 3986 §2).
enum PercentEncoding {
    /// Undoes the escapes of unreserved characters, writes the others with upper-case digits, and escapes what may not
    /// stand in a URL. A `%` that begins no escape leaves all escapes as they are: one undone behind it could make it
    /// begin an escape of another text.
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
            guard index + 2 < bytes.count, let high = hexValue(bytes[index + 1]), let low = hexValue(bytes[index + 2])
            else { return String(decoding: bytes, as: UTF8.self) }
            let byte = high << 4 | low
            if isUnreserved(byte) { result.append(byte) } else { result += [0x25, upperDigit(high), upperDigit(low)] }
            index += 3
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Writes every byte outside ASCII as an escape and keeps the rest.
    static func escapingNonASCII(_ bytes: some Sequence<UInt8>) -> String { escaping(bytes) { $0 >= 0x80 } }

    /// Writes the characters that RFC 3986 has no place for as escapes and keeps the rest.
    static func escapingIllegal(_ text: String) -> String {
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

    /// The bytes that a text stands for; a `%` that begins no escape stands for itself.
    static func decoded(_ text: some StringProtocol) -> [UInt8] { decoded(Array(text.utf8)) }

    /// The bytes that others stand for.
    static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x25, index + 2 < bytes.count, let high = hexValue(bytes[index + 1]),
                let low = hexValue(bytes[index + 2])
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

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }

    private static func upperDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
}

/// The segments `.` and `..` of a path, escaped ones included (RFC 3986 §5.2.4).
package enum DotSegments {
    /// The path with its dot segments resolved; empty segments stay.
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

    /// Whether a segment of the path is `.` or `..`.
    package static func contains(_ path: String) -> Bool {
        path.split(separator: "/").contains { [".", ".."].contains(decoded($0)) }
    }

    /// How often an origin, and what stands before it, might undo escapes. What is escaped more often hides something.
    private static let mostRounds = 4

    /// Whether an origin might read a dot segment where ``contains(_:)`` finds none: beside an escaped slash or backslash,
    /// before a parameter, escaped twice or by more bytes than UTF-8 needs; or the end of the path at an escaped zero byte.
    package static func areHidden(in path: String) -> Bool {
        guard path.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: ";") }) else { return false }
        var shown = Array(path.utf8)
        for _ in 0..<mostRounds {
            if isMisread(shown) { return true }
            let decoded = PercentEncoding.decoded(shown)
            guard decoded.count < shown.count else { return false }
            shown = decoded
        }
        return true
    }

    /// Whether a path, taken as it stands, ends early or has a dot segment for an origin that is careless about slashes,
    /// parameters and blanks.
    private static func isMisread(_ path: [UInt8]) -> Bool {
        guard !path.contains(0) else { return true }
        return shortest(path).split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") })
            .contains { segment in
                let name = segment.prefix { $0 != UInt8(ascii: ";") }
                let end = name.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? name.startIndex
                return name[..<end].elementsEqual(".".utf8) || name[..<end].elementsEqual("..".utf8)
            }
    }

    /// The bytes with dots, slashes and backslashes of two bytes, which are no UTF-8, made those of one.
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

    /// The segment with its escaped dots written out: `%2e` is a dot to every server.
    private static func decoded(_ segment: Substring) -> String {
        segment.count > 6 ? String(segment) : segment.lowercased().replacing("%2e", with: ".")
    }
}
