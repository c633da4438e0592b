import VaultModel

/// The value of `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The longest time that is believed: a week. An origin that means longer may say so again then.
    static let longest = 604_800

    /// The seconds to wait, ``longest`` at most; nil where the field is absent or says nothing usable.
    ///
    /// A date counts from the answer's own `Date`, so that a wrong clock on either side does no harm.
    static func seconds(in fields: HeaderFields) -> Int? {
        guard let value = fields["Retry-After"] else { return nil }
        if let seconds = DecimalNumber.clamped(value) { return Int(min(seconds, Int64(longest))) }
        // Both times are the origin's: the century of an obsolete spelling is told by no clock of ours.
        guard let now = fields["Date"].flatMap({ HTTPDate($0, now: 0) }), let then = HTTPDate(value, now: now.seconds)
        else { return nil }
        return Int(min(max(0, then.seconds - now.seconds), Int64(longest)))
    }
}
