/// The ranges that a `Range` field requests (RFC 9110 §14.2).
public enum RangeHeader: Hashable, Sendable {
    /// There is no range, the unit is not `bytes`, the list is empty, or it has more than ``maxRanges`` ranges: send
    /// everything.
    case ignored
    /// The unit is `bytes`, but no valid list of ranges follows: respond with 416.
    case malformed
    /// One or more ranges, in the order of the request.
    case ranges([RequestedRange])

    /// The maximum number of ranges that are served separately. A longer list is ignored, so that the work is bounded.
    public static let maxRanges = 16

    /// Parses the value of a `Range` field.
    ///
    /// Numbers that do not fit in 63 bits are clamped, so that `0-18446744073709551616` still means "to the end" and
    /// `18446744073709551615-` is past every end.
    ///
    /// - Parameter value: the field's value, or nil if the request has none.
    public init(_ value: String?) {
        guard let value, let equals = value.firstIndex(of: "="), value[..<equals].lowercased() == "bytes" else {
            self = .ignored
            return
        }
        var ranges: [RequestedRange] = []
        for item in value[value.index(after: equals)...].split(separator: ",") {
            let item = item.trimmingBlanks()
            // Empty list members are ignored (RFC 9110 §5.6.1.2).
            if item.isEmpty { continue }
            guard ranges.count < Self.maxRanges else {
                self = .ignored
                return
            }
            guard let range = Self.range(item) else {
                self = .malformed
                return
            }
            ranges.append(range)
        }
        self = ranges.isEmpty ? .ignored : .ranges(ranges)
    }

    private static func range(_ text: Substring) -> RequestedRange? {
        guard let dash = text.firstIndex(of: "-") else { return nil }
        let first = text[..<dash]
        let last = text[text.index(after: dash)...]
        switch (first.isEmpty, last.isEmpty) {
        case (true, true): return nil
        case (true, false): return DecimalNumber.clamped(last).map { .suffix($0) }
        case (false, true): return DecimalNumber.clamped(first).map { .from($0) }
        case (false, false):
            guard let first = DecimalNumber.clamped(first), let last = DecimalNumber.clamped(last), first <= last
            else { return nil }
            return .closed(first: first, last: last)
        }
    }
}

/// The value of a `Content-Range` field (RFC 9110 §14.4).
public enum ContentRange: Hashable, Sendable, CustomStringConvertible {
    /// The bytes that a 206 carries, and the representation's length if the sender knows it.
    case bytes(ByteRange, total: Int64?)
    /// The value in a 416: none of the requested bytes exist in a representation of `total` bytes.
    case unsatisfied(total: Int64)

    /// Parses a field value.
    ///
    /// - Returns: nil if RFC 9110 calls the value invalid because its last position is before the first, or its total
    ///   is not greater than the last position. Also nil for numbers beyond 63 bits, and for units other than `bytes`.
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

/// Decimal numbers as HTTP spells them: only ASCII digits, without a sign or white space.
package enum DecimalNumber {
    /// Parses a number exactly; nil if the text is not a number or does not fit in 63 bits.
    package static func exact(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
        return Int64(text)
    }

    /// Parses a number; one that does not fit in 63 bits is clamped to `Int64.max`. Nil if the text is not a number.
    package static func clamped(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
        return Int64(text) ?? .max
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}

extension StringProtocol {
    /// Returns the text without the spaces and tabs around it (the optional white space of RFC 9110 §5.6.3).
    package func trimmingBlanks() -> SubSequence {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) })
        else { return self[endIndex..<endIndex] }
        return self[first...last]
    }
}
