import VaultModel

/// How often sessions were ended in this run other than one by one: those of all, and those of each viewer.
struct SessionEnds: Hashable, Sendable {
    private var ofAll = 0
    private var ofViewers: [ViewerID: Int] = [:]

    /// - Parameter viewer: whose sessions are ended; nil if all are.
    mutating func note(of viewer: ViewerID?) {
        guard let viewer else { return ofAll += 1 }
        ofViewers[viewer, default: 0] += 1
    }

    /// Returns whether no sessions that someone could have were ended since others.
    func isSame(as other: SessionEnds, for viewer: ViewerID?) -> Bool {
        ofAll == other.ofAll && (viewer.map { ofViewers[$0] == other.ofViewers[$0] } ?? true)
    }
}

/// What was in force when a ticket was created, or when someone began to sign in.
///
/// Another era begins for everyone when all links and tokens are revoked, the root key is replaced, the vault is locked,
/// or all sessions are ended; and for one viewer when their PIN changes, or their sessions are ended. What an earlier
/// era has begun lets nobody in. Tickets are kept in memory alone, so an era need not survive a restart.
package struct SignInEra: Hashable, Sendable {
    /// Names the token key and the epoch.
    fileprivate let tokens: [UInt8]
    fileprivate let ends: SessionEnds
}

extension TokenIssuer {
    /// What is in force now.
    package var signInEra: SignInEra { SignInEra(tokens: era, ends: grants?.sessionEnds ?? SessionEnds()) }

    /// Returns whether what an era has begun may still let someone in.
    ///
    /// - Parameter viewer: who is signed in; nil for the owner.
    package func isInForce(_ begun: SignInEra, for viewer: ViewerID?) -> Bool {
        let now = signInEra
        return now.tokens == begun.tokens && now.ends.isSame(as: begun.ends, for: viewer)
    }
}
