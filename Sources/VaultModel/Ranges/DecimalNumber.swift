/// Decimal numbers as HTTP spells them: ASCII digits and nothing else, no sign, no blank.
package enum DecimalNumber {
    /// Reads a number exactly; nil where it is no number or does not fit 63 bits.
    package static func exact(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
        return Int64(text)
    }

    /// Reads a number, taking one that does not fit 63 bits as the largest; nil where it is no number.
    package static func clamped(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
        return Int64(text) ?? .max
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}

extension StringProtocol {
    /// The text without the spaces and tabs around it (the optional white space of RFC 9110 §5.6.3).
    package func trimmingBlanks() -> SubSequence {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) })
        else { return self[endIndex..<endIndex] }
        return self[first...last]
    }
}
