/// The value of a `Content-Range` field (RFC 9110 §14.4).
public enum ContentRange: Hashable, Sendable, CustomStringConvertible {
    /// The bytes a 206 carries, and the length of the whole where the sender knows it.
    case bytes(ByteRange, total: Int64?)
    /// What a 416 says: no byte asked for exists in a representation of so many bytes.
    case unsatisfied(total: Int64)

    /// Reads a field value, refusing what RFC 9110 calls invalid: a last position before the first, a total that does
    /// not lie past the last position, numbers beyond 63 bits, and every unit but `bytes`.
    public init?(_ value: String) {
        let parts = value.trimmingBlanks().split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let halves = parts[1].trimmingBlanks().split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[0] == "*" {
            guard let total = DecimalNumber.exact(halves[1]) else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = DecimalNumber.exact(ends[0]), let last = DecimalNumber.exact(ends[1]),
            first <= last, last < .max
        else { return nil }
        if halves[1] == "*" {
            self = .bytes(first..<(last + 1), total: nil)
        } else {
            guard let total = DecimalNumber.exact(halves[1]), last < total else { return nil }
            self = .bytes(first..<(last + 1), total: total)
        }
    }

    /// The field value, as HTTP spells it.
    public var description: String {
        switch self {
        case .bytes(let range, let total): "bytes \(range.httpBytes)/\(total.map(String.init) ?? "*")"
        case .unsatisfied(let total): "bytes */\(total)"
        }
    }
}
