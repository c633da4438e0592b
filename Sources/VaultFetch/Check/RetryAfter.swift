import VaultModel

/// The value of `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The seconds to wait; nil where the field is absent or says nothing usable.
    ///
    /// A date counts from the answer's own `Date`, so that a wrong clock on either side does no harm.
    static func seconds(in fields: HeaderFields) -> Int? {
        guard let value = fields["Retry-After"] else { return nil }
        if let seconds = DecimalNumber.clamped(value) { return Int(clamping: seconds) }
        guard let then = HTTPDate(value), let now = fields["Date"].flatMap({ HTTPDate($0) }) else { return nil }
        return max(0, then.secondsSince1970 - now.secondsSince1970)
    }
}
