/// How long an answer took up to its head, as `Server-Timing` tells it. What comes later cannot be told.
struct ServerTiming: Hashable, Sendable {
    /// What the vault took to find the resource and its first byte, held or fetched.
    let open: Duration
    /// From the request until the head, the first byte at hand; nil where no byte was asked for.
    let firstByte: Duration?

    /// The field's value, in milliseconds.
    var value: String {
        let open = "open;dur=\(Self.milliseconds(open))"
        return firstByte.map { "\(open), first-byte;dur=\(Self.milliseconds($0))" } ?? open
    }

    private static func milliseconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let microseconds = max(0, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
        let fraction = microseconds % 1000
        return "\(microseconds / 1000).\(fraction < 10 ? "00" : fraction < 100 ? "0" : "")\(fraction)"
    }
}
