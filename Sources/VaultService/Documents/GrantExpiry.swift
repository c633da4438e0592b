package import MediaVault

/// When a token or a link expires.
package enum GrantExpiry: Hashable, Sendable {
    case never
    /// A number of seconds from now.
    case after(Int64)
    case at(Timestamp)

    /// The maximum validity of a link without a name, in seconds. It is limited because a link is not a key.
    package static let maxUnnamed: Int64 = 365 * 86_400
    /// How long a link is valid by default, in seconds.
    static let standardOfLinks: Int64 = 86_400

    /// Creates an expiry from the members of a request.
    ///
    /// - Parameter standard: the expiry to use if both members are nil.
    /// - Throws: ``VaultError`` with code `invalidArgument` if both members are given, or the lifetime is negative.
    init(lifetime: Int64?, expires: Timestamp?, standard: GrantExpiry) throws {
        switch (lifetime, expires) {
        case (nil, nil): self = standard
        case (0, nil): self = .never
        case (let seconds?, nil) where seconds > 0: self = .after(seconds)
        case (nil, let time?): self = .at(time)
        case (_?, nil): throw VaultError(.invalidArgument, "lifetime must be 0, for no end, or a number of seconds")
        case (_?, _?): throw VaultError(.invalidArgument, "the request has both lifetime and expires; leave out one")
        }
    }

    /// The request members that express this expiry.
    var members: (lifetime: Int64?, expires: Timestamp?) {
        switch self {
        case .never: (0, nil)
        case .after(let seconds): (seconds, nil)
        case .at(let time): (nil, time)
        }
    }

    /// Returns the time of expiry in seconds since 1970; nil for never.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if that time has passed, or its year has more than four
    ///   digits.
    func end(now: Int64) throws -> Int64? {
        let end: Int64
        switch self {
        case .never: return nil
        case .after(let seconds): end = now.addingReportingOverflow(seconds).partialValue
        case .at(let time): end = time.seconds
        }
        guard end > now, Timestamp(seconds: end).seconds == end else {
            throw VaultError(
                .invalidArgument, "the time of expiry has passed, or is too late for a date; give another, or never")
        }
        return end
    }

    /// Returns the time of expiry of a link without a name, in seconds since 1970.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the link would never expire, or the time of expiry has
    ///   passed or is more than a year away.
    package func endOfUnnamed(now: Int64) throws -> Int64 {
        guard let end = try end(now: now), end - now <= Self.maxUnnamed else {
            throw VaultError(
                .invalidArgument, "a link without a name is valid for at most 365 days; give it a name, or less time")
        }
        return end
    }
}
