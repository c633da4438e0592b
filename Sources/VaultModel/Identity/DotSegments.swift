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
