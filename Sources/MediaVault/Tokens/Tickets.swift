import VaultCrypto
import VaultModel

/// The service's tickets, for clients that cannot send a token: a page that opens the feed of events, and a browser
/// that signs in.
///
/// A ticket can be redeemed once, within a minute, and for one use. It is kept in memory. It ends when the token for
/// which it was issued ends, or when the era in which it was issued ends.
package final class Tickets: Sendable {
    /// The purpose of a ticket.
    package enum Use: String, CaseIterable, Codable, Sendable {
        /// Opens the feed of events.
        case events
        /// Begins a browser session.
        case session
    }

    /// A newly created ticket.
    package struct Ticket: Sendable {
        package let text: String
        /// How long the ticket is valid, in seconds.
        package let lifetime: Int
    }

    /// The holder of a ticket, and the ticket's use.
    package struct Holder: Hashable, Sendable {
        /// The token of the holder; nil for the vault's own user on the control socket.
        package let access: TokenAccess?
        /// The ticket's use.
        package let use: Use
        /// The viewer whom a session ticket signs in; nil for the owner.
        package let viewer: ViewerID?
        /// The era in which the ticket was issued.
        package let era: SignInEra

        /// Returns whether the other holder is the same person, as far as that is known, with a ticket for the same
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
    /// The maximum number of tickets for one use, and for one holder. If there are more, the oldest end.
    private static let (maxCount, maxOfHolder) = (256, 16)

    /// - Parameter tokens: the token issuer of the vault for which the tickets are issued.
    package init(of tokens: TokenIssuer) { self.tokens = tokens }

    /// Creates a ticket.
    ///
    /// - Parameters:
    ///   - use: the purpose of the ticket.
    ///   - viewer: the viewer whom a session ticket signs in; nil for the owner.
    ///   - access: the token of the request; nil for a request on the control socket.
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
            // A holder who requests very many tickets loses their own oldest ones, not those of others.
            let own = entries.indices.filter { entries[$0].holder.isSame(as: entry.holder) }
            if own.count >= Self.maxOfHolder { entries.remove(at: own[0]) }
            // Session tickets are few, and requests for event tickets must not displace them.
            let others = entries.filter { $0.holder.use != use }
            entries = others + entries.filter { $0.holder.use == use }.suffix(Self.maxCount - 1) + [entry]
        }
        return Ticket(text: text, lifetime: Self.lifetime)
    }

    /// Redeems a ticket by the rules of ``redeem(_:now:)``. The result is also nil if the ticket is for another use, if
    /// the token for which it was issued is no longer valid, or if its era has passed.
    ///
    /// - Parameter now: the current time, in seconds since 1970.
    package func redeem(_ text: String, for use: Use, now: Int64) -> Holder? {
        // A ticket from the control socket has no token that could be revoked, so only the era decides.
        guard let holder = redeem(text), holder.use == use, tokens.isInForce(holder.era, for: holder.viewer),
            holder.access.map({ tokens.isValid($0, now: now) }) ?? true
        else { return nil }
        return holder
    }

    /// Redeems a ticket; nil if it is unknown, was already used, or has expired.
    ///
    /// How long this takes does not depend on how much of the ticket is correct.
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
