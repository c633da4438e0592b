import VaultCrypto
import VaultModel

/// Tickets of the service, for what cannot send a token: a page that opens the feed of events, and a browser that signs
/// in.
///
/// A ticket is good once, for a minute, and for one use. It is kept in memory, and ends with the token that it was given
/// for, and with the era in which it was given.
package final class Tickets: Sendable {
    /// What a ticket is good for.
    package enum Use: String, CaseIterable, Codable, Sendable {
        /// The feed of events.
        case events
        /// A session of a browser.
        case session
    }

    /// A ticket that was just created.
    package struct Ticket: Sendable {
        package let text: String
        /// For how many seconds it is good.
        package let lifetime: Int
    }

    /// Who was given a ticket.
    package struct Holder: Hashable, Sendable {
        /// The token; nil for the vault's own user on the control socket.
        package let access: TokenAccess?
        /// What the ticket is good for.
        package let use: Use
        /// Whom a ticket for a session signs in; nil for the owner.
        package let viewer: ViewerID?
        /// What was in force when the ticket was given.
        package let era: SignInEra

        /// Whether the other one is the same person, as far as they can be told apart, with a ticket for the same use.
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
    /// Knows what is in force.
    private let tokens: TokenIssuer

    /// For how many seconds a ticket is good.
    private static let lifetime = 60
    /// The most tickets, and the most of one holder; of more, the oldest end.
    private static let (maxCount, maxOfHolder) = (256, 16)

    /// - Parameter tokens: those of the vault that the tickets are for.
    package init(of tokens: TokenIssuer) { self.tokens = tokens }

    /// Creates a ticket.
    ///
    /// - Parameters:
    ///   - use: what it is good for.
    ///   - viewer: whom a ticket for a session signs in; nil for the owner.
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
            // A holder that asks for very many ends its own, and not those of others.
            let own = entries.indices.filter { entries[$0].holder.isSame(as: entry.holder) }
            if own.count >= Self.maxOfHolder { entries.remove(at: own[0]) }
            // Tickets for sessions are few, and none ends because others ask for events.
            let others = entries.filter { $0.holder.use != use }
            entries = others + entries.filter { $0.holder.use == use }.suffix(Self.maxCount - 1) + [entry]
        }
        return Ticket(text: text, lifetime: Self.lifetime)
    }

    /// Takes a ticket back, as ``redeem(_:now:)``; nil also if it is for another use, or the token that it was given for
    /// is not valid any more, or its era has passed.
    ///
    /// - Parameter now: seconds since 1970.
    package func redeem(_ text: String, for use: Use, now: Int64) -> Holder? {
        // The vault's own user on the control socket has no token that could be revoked: then the era alone decides.
        guard let holder = redeem(text), holder.use == use, tokens.isInForce(holder.era, for: holder.viewer),
            holder.access.map({ tokens.isValid($0, now: now) }) ?? true
        else { return nil }
        return holder
    }

    /// Takes a ticket back; nil if it is unknown, was used, or has expired.
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
