/// What the `Cache-Control` of an answer says to a private cache (RFC 9111 §5.2.2, RFC 8246).
///
/// `private`, `public` and `s-maxage` are for shared caches. A directive that names fields (`no-cache="…"`) is about
/// those alone, and media have none of them.
package struct CacheControl: Hashable, Sendable {
    /// For how many seconds the answer is fresh: the least that is said, and 0 where what is said is no number.
    package private(set) var maxAge: Int64?
    /// `no-cache`, and `no-store`, which is obeyed as the same: the vault stores what its owner asks it to, sealed.
    package private(set) var isNoCache = false
    /// `must-revalidate`.
    package private(set) var mustRevalidate = false
    /// `immutable`: it does not change while it is fresh.
    package private(set) var isImmutable = false

    /// - Parameter lines: the values of all `Cache-Control` fields.
    package init(_ lines: [String]) {
        for line in lines {
            for member in Self.members(of: line) { add(member) }
        }
    }

    private mutating func add(_ member: Substring) {
        let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let argument = parts.count > 1 ? parts[1].trimmingBlanks() : nil
        switch parts[0].trimmingBlanks().lowercased() {
        case "max-age": maxAge = min(maxAge ?? .max, argument.map(Self.seconds) ?? 0)
        case "no-cache": isNoCache = isNoCache || argument == nil
        case "no-store": isNoCache = true
        case "must-revalidate": mustRevalidate = true
        case "immutable": isImmutable = true
        default: break
        }
    }

    private static func seconds(_ argument: Substring) -> Int64 {
        let isQuoted = argument.count >= 2 && argument.first == "\"" && argument.last == "\""
        return DecimalNumber.clamped(isQuoted ? argument.dropFirst().dropLast() : argument) ?? 0
    }

    /// The parts between commas; a comma within quotes is none.
    private static func members(of line: String) -> [Substring] {
        var members: [Substring] = []
        var start = line.startIndex
        var (isQuoted, isEscaped) = (false, false)
        for index in line.indices {
            let character = line[index]
            if isEscaped {
                isEscaped = false
            } else if character == "\\" {
                isEscaped = isQuoted
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == ",", !isQuoted {
                members.append(line[start..<index])
                start = line.index(after: index)
            }
        }
        return members + [line[start...]]
    }
}
