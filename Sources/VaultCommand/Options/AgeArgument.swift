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
}
