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

    /// Whether an origin might read a dot segment where ``contains(_:)`` finds none: beside an escaped slash or backslash,
    /// which some decode first, or before a parameter.
    package static func areHidden(in path: String) -> Bool {
        guard path.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: ";") }) else { return false }
        let shown = path.lowercased().replacing("%2f", with: "/").replacing("%5c", with: "/")
        return shown.split(separator: "/").contains { segment in
            [".", ".."].contains(decoded(segment.prefix { $0 != ";" }))
        }
    }

    /// The segment with its escaped dots written out: `%2e` is a dot to every server.
    private static func decoded(_ segment: Substring) -> String {
        segment.count > 6 ? String(segment) : segment.lowercased().replacing("%2e", with: ".")
    }
}
