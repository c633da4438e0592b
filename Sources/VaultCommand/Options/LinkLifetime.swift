/// How long a playable address stays valid: `90s`, `30m`, `24h`, `7d`.
struct LinkLifetime: Hashable, Sendable {
    let seconds: Int64

    /// The longest: a year. A link is not a key.
    static let most: Int64 = 365 * 86_400

    init(_ text: String) throws {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }),
            text.dropLast().utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let count = Int64(text.dropLast())
        else { throw UsageError("--expires is a number and a unit: 90s, 30m, 24h or 7d") }
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit)
        guard !overflow, (1...Self.most).contains(seconds) else {
            throw UsageError("--expires lies between 1s and 365d")
        }
        self.seconds = seconds
    }
}
