/// How long a representation is taken for what its origin has, without asking (RFC 9111 §4.2).
///
/// Times are whole seconds of the wall clock. They are compared with care: a clock may have been wrong when they were
/// taken, or be wrong now.
package struct Freshness: Hashable, Sendable {
    /// When the question was asked whose answer last said that the representation is current, since 1970.
    package let checked: Int64
    /// For how many seconds after that nobody asks.
    package let lifetime: Int64
    /// Whether the origin's refusal counts even where bytes are held (`no-cache`, `must-revalidate`).
    package let isStrict: Bool

    /// The longest lifetime: what RFC 9111 §1.2.2 has a cache take for any larger number.
    package static let mostLifetime: Int64 = 1 << 31
    /// How far a clock may be set back without anybody asking for it.
    private static let clockTolerance: Int64 = 60

    /// What is out of bounds is brought within them.
    package init(checked: Int64, lifetime: Int64, isStrict: Bool = false) {
        self.checked = min(max(0, checked), ContentInformation.mostBytes)
        self.lifetime = min(max(0, lifetime), Self.mostLifetime)
        self.isStrict = isStrict
    }

    /// Whether nobody needs to ask.
    ///
    /// A time before the last question tells no age: the clock was wrong then, or is now, and one question settles it.
    package func isFresh(now: Int64) -> Bool {
        guard now >= checked - Self.clockTolerance else { return false }
        // Neither side overflows: `checked` is not below 0.
        return max(now, checked) - checked < lifetime
    }

    /// The same lifetime from another question on.
    package func renewed(at time: Int64) -> Freshness {
        Freshness(checked: time, lifetime: lifetime, isStrict: isStrict)
    }

    /// Whether it says so much more than what is written down that it is worth writing.
    package func isNews(after written: Freshness?) -> Bool {
        guard let written, written.isStrict == isStrict else { return true }
        let more = (checked + lifetime) - (written.checked + written.lifetime)
        return more < 0 || more >= max(60, lifetime / 10)
    }
}
