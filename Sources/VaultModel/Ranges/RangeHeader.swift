/// What a `Range` field asks for, as RFC 9110 §14.2 wants it read.
public enum RangeHeader: Hashable, Sendable {
    /// No range, a unit that is not `bytes`, an empty value, or more ranges than are worth an answer: send everything.
    case ignored
    /// The unit is `bytes`, but what follows is no list of ranges: answer 416.
    case malformed
    /// One or more ranges, in the order they were asked for.
    case ranges([RequestedRange])

    /// The most ranges that are answered one by one; a longer list is ignored, so that work stays bounded.
    public static let mostRanges = 16

    /// Reads the value of a `Range` field.
    ///
    /// Numbers too large for 63 bits are clamped, so that `0-18446744073709551616` still means "to the end" and
    /// `18446744073709551615-` lies past every end.
    ///
    /// - Parameter value: the field's value, or nil where the request has none.
    public init(_ value: String?) {
        guard let value, let equals = value.firstIndex(of: "="), value[..<equals].lowercased() == "bytes" else {
            self = .ignored
            return
        }
        var ranges: [RequestedRange] = []
        for item in value[value.index(after: equals)...].split(separator: ",") {
            let item = item.trimmingBlanks()
            // An empty member of a list counts for nothing (RFC 9110 §5.6.1.2).
            if item.isEmpty { continue }
            guard ranges.count < Self.mostRanges else {
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
