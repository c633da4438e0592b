/// Parses durations as an MPD writes them, such as `PT1H2M3.5S` (XML Schema 1.1 part 2, §3.3.6).
enum DASHTime {
    /// The longest accepted duration in nanoseconds: ten years of 366 days.
    static let longest: Int64 = 10 * 366 * 86_400 * 1_000_000_000

    /// Returns a duration in nanoseconds; nil if the text is not a duration, is negative, or exceeds ``longest``.
    ///
    /// A year counts as 365 days, and a month as 30.
    static func nanoseconds(_ text: String) -> Int64? {
        var rest = text.trimmingSpace().utf8[...]
        guard rest.count <= 64, rest.popFirst() == UInt8(ascii: "P"), !rest.isEmpty else { return nil }
        var total: Int64 = 0
        var units = dayUnits[...]
        var isTime = false
        while let first = rest.first {
            if first == UInt8(ascii: "T") {
                guard !isTime else { return nil }
                isTime = true
                units = timeUnits[...]
                rest.removeFirst()
                guard !rest.isEmpty else { return nil }
                continue
            }
            let whole = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest[whole.endIndex...]
            var fraction = rest[rest.startIndex..<rest.startIndex]
            if rest.first == UInt8(ascii: ".") {
                fraction = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
                rest = rest[fraction.endIndex...]
            }
            guard let letter = rest.popFirst(), let unit = units.firstIndex(where: { $0.letter == letter }),
                whole.count + fraction.count > 0, fraction.isEmpty || letter == UInt8(ascii: "S"),
                let count = whole.isEmpty ? 0 : Int64(Substring(whole)), count <= longest / units[unit].length
            else { return nil }
            total += count * units[unit].length
            units = units[(unit + 1)...]
            var digit: Int64 = 100_000_000
            for byte in fraction.prefix(9) {
                total += Int64(byte - 0x30) * digit
                digit /= 10
            }
            guard total <= longest else { return nil }
        }
        return total
    }

    private typealias Unit = (letter: UInt8, length: Int64)
    private static let second: Int64 = 1_000_000_000
    private static let dayUnits: [Unit] = [
        (UInt8(ascii: "Y"), 365 * 86_400 * second), (UInt8(ascii: "M"), 30 * 86_400 * second),
        (UInt8(ascii: "D"), 86_400 * second),
    ]
    private static let timeUnits: [Unit] = [
        (UInt8(ascii: "H"), 3600 * second), (UInt8(ascii: "M"), 60 * second), (UInt8(ascii: "S"), second),
    ]
}
