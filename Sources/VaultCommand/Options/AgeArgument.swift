/// A time as people write it, in seconds: `90d`, `12h`, `30m`, `45s`; a bare 0 is none.
enum AgeArgument {
    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    /// - Parameter option: what the error names.
    static func parse(_ text: String, _ option: String) throws -> Int64 {
        if text == "0" { return 0 }
        guard let unit = text.last.flatMap({ units[$0] }), let age = Quantity.parse(text.dropLast(), times: unit)
        else { throw UsageError("\(option) is a number and a unit: 90d, 12h, 30m or 45s") }
        return age
    }

    /// The time as ``parse(_:_:)`` takes it, in the largest unit that it is a whole number of.
    static func text(_ seconds: Int64) -> String {
        guard seconds != 0 else { return "0" }
        let unit = units.filter { seconds % $0.value == 0 }.max { $0.value < $1.value }
        return unit.map { "\(seconds / $0.value)\($0.key)" } ?? "\(seconds)s"
    }
}
