package import MediaVault

/// When a token or a link expires.
package enum GrantExpiry: Hashable, Sendable {
    case never
    /// A number of seconds from now.
    case after(Int64)
    case at(Timestamp)

    /// The longest validity of a link without a name, in seconds: a link is not a key.
    package static let maxUnnamed: Int64 = 365 * 86_400
    /// The default validity of a link, in seconds.
    static let standardOfLinks: Int64 = 86_400

    /// Reads the members of a request.
    ///
    /// - Parameter standard: the expiry if both are nil.
    /// - Throws: ``VaultError`` with code `invalidArgument` if both are given, or the lifetime is negative.
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

    /// The members for a request.
    var members: (lifetime: Int64?, expires: Timestamp?) {
        switch self {
        case .never: (0, nil)
        case .after(let seconds): (seconds, nil)
        case .at(let time): (nil, time)
        }
    }

    /// Returns the expiry in seconds since 1970; nil for never.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if it has passed, or its year has more than four digits.
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

    /// Returns the expiry of a link without a name.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if it has passed, is more than a year away, or is never.
    package func endOfUnnamed(now: Int64) throws -> Int64 {
        guard let end = try end(now: now), end - now <= Self.maxUnnamed else {
            throw VaultError(
                .invalidArgument, "a link without a name is valid for at most 365 days; give it a name, or less time")
        }
        return end
    }
}
