import VaultCrypto
import VaultModel

/// Tickets of the service, for clients that cannot send a token: a page that opens the feed of events, and a browser
/// that signs in.
///
/// A ticket is valid once, for a minute, and for one use. It is kept in memory, and ends with the token that it was
/// issued for, and with the era in which it was issued.
package final class Tickets: Sendable {
    /// The use of a ticket.
    package enum Use: String, CaseIterable, Codable, Sendable {
        /// The feed of events.
        case events
        /// A browser session.
        case session
    }

    /// A newly created ticket.
    package struct Ticket: Sendable {
        package let text: String
        /// How long it is valid, in seconds.
        package let lifetime: Int
    }

    /// The holder of a ticket.
    package struct Holder: Hashable, Sendable {
        /// The token; nil for the vault's own user on the control socket.
        package let access: TokenAccess?
        /// The ticket's use.
        package let use: Use
        /// The viewer whom a session ticket signs in; nil for the owner.
        package let viewer: ViewerID?
        /// The era in which the ticket was issued.
        package let era: SignInEra

        /// Returns whether the other holder is the same person, if they can be told apart, with a ticket for the same
        /// use.
        func isSame(as other: Holder) -> Bool {
            guard use == other.use else { return false }
            if let one = access?.viewer { return one == other.access?.viewer }
            return access == other.access
        }
    }

    private struct Entry {
        let text: [UInt8]
        let holder: Holder
        let end: ContinuousClock.Instant
    }

    private let entries = Locked<[Entry]>([])
    /// Checks tokens and eras.
    private let tokens: TokenIssuer

    /// How long a ticket is valid, in seconds.
    private static let lifetime = 60
    /// The maximum number of tickets for one use, and of one holder; beyond that, the oldest end.
    private static let (maxCount, maxOfHolder) = (256, 16)

    /// - Parameter tokens: the token issuer of the vault that the tickets are for.
    package init(of tokens: TokenIssuer) { self.tokens = tokens }

    /// Creates a ticket.
    ///
    /// - Parameters:
    ///   - use: what the ticket is for.
    ///   - viewer: the viewer whom a session ticket signs in; nil for the owner.
    ///   - access: the token of the request; nil on the control socket.
    ///   - now: the time of the request.
    package func issue(
        _ use: Use, of viewer: ViewerID? = nil, for access: TokenAccess?, now: ContinuousClock.Instant = .now
    ) throws -> Ticket {
        let text = Base64.encodeForURL(try SecureRandom.bytes(32, "ticket"))
        let entry = Entry(
            text: Array(text.utf8), holder: Holder(access: access, use: use, viewer: viewer, era: tokens.signInEra),
            end: now + .seconds(Self.lifetime))
        entries.withLock { entries in
            entries.removeAll { $0.end <= now }
            // A holder that requests very many tickets ends their own, not those of others.
            let own = entries.indices.filter { entries[$0].holder.isSame(as: entry.holder) }
            if own.count >= Self.maxOfHolder { entries.remove(at: own[0]) }
            // Tickets for sessions are few, and requests for event tickets must not end them.
            let others = entries.filter { $0.holder.use != use }
            entries = others + entries.filter { $0.holder.use == use }.suffix(Self.maxCount - 1) + [entry]
        }
        return Ticket(text: text, lifetime: Self.lifetime)
    }

    /// Redeems a ticket, as ``redeem(_:now:)`` does; nil also if it is for another use, the token that it was issued
    /// for is no longer valid, or its era has passed.
    ///
    /// - Parameter now: seconds since 1970.
    package func redeem(_ text: String, for use: Use, now: Int64) -> Holder? {
        // On the control socket there is no token that could be revoked, so only the era decides.
        guard let holder = redeem(text), holder.use == use, tokens.isInForce(holder.era, for: holder.viewer),
            holder.access.map({ tokens.isValid($0, now: now) }) ?? true
        else { return nil }
        return holder
    }

    /// Redeems a ticket; nil if it is unknown, was used, or has expired.
    ///
    /// The time does not depend on how much of it is correct.
    package func redeem(_ text: String, now: ContinuousClock.Instant = .now) -> Holder? {
        let bytes = Array(text.utf8)
        return entries.withLock { entries in
            var found: Holder?
            for entry in entries where ConstantTime.areEqual(entry.text, bytes) && entry.end > now {
                found = entry.holder
            }
            entries.removeAll { ConstantTime.areEqual($0.text, bytes) }
            return found
        }
    }
}
