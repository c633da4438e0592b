/// Why an origin gave no answer, or no whole one. It never carries a URL's query, a header value, or media.
public struct OriginFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the caller can make of it.
    public enum Kind: Hashable, Sendable {
        /// Nobody answered: name not found, connection refused, TLS refused, time-out before the head.
        case unreachable
        /// The answer broke off: reset, cut short, or silent for too long. Going on from the next byte may help.
        case interrupted
        /// The answer is not one HTTP allows, or not one to what was asked. Asking again does not help.
        case lied
        /// The answer is an error status.
        case refused(status: Int, retryAfter: Int?)
    }

    /// What the caller can make of it.
    public let kind: Kind
    /// What happened, in a few words without a full stop: `connection refused`.
    public let reason: String

    /// `reason` is a few words without a full stop, and holds nothing secret.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// The same as ``reason``.
    public var description: String { reason }
}
