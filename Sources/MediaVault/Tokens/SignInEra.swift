import VaultModel

/// How often this run ended sessions collectively: all sessions, or those of one viewer.
struct SessionEnds: Hashable, Sendable {
    private var ofAll = 0
    private var ofViewers: [ViewerID: Int] = [:]

    /// - Parameter viewer: the viewer whose sessions are ended; nil for all.
    mutating func note(of viewer: ViewerID?) {
        guard let viewer else { return ofAll += 1 }
        ofViewers[viewer, default: 0] += 1
    }

    /// Returns whether no sessions of a viewer, or of the owner if nil, were ended collectively since an earlier count.
    func isSame(as other: SessionEnds, for viewer: ViewerID?) -> Bool {
        ofAll == other.ofAll && (viewer.map { ofViewers[$0] == other.ofViewers[$0] } ?? true)
    }
}

/// The era in which a ticket was created, or in which someone began to sign in.
///
/// A new era begins for everyone when all links and tokens are revoked, the root key is replaced, the vault is locked,
/// or all sessions are ended; and for one viewer when their PIN changes, or their sessions are ended. A ticket or
/// sign-in from an earlier era admits nobody. Tickets are kept only in memory, so an era need not survive a restart.
package struct SignInEra: Hashable, Sendable {
    /// Identifies the token key and the epoch.
    fileprivate let tokens: [UInt8]
    fileprivate let ends: SessionEnds
}

extension TokenIssuer {
    /// The current era.
    package var signInEra: SignInEra { SignInEra(tokens: era, ends: grants?.sessionEnds ?? SessionEnds()) }

    /// Returns whether a ticket or sign-in from an era may still admit someone.
    ///
    /// - Parameter viewer: the viewer who signs in; nil for the owner.
    package func isInForce(_ begun: SignInEra, for viewer: ViewerID?) -> Bool {
        let now = signInEra
        return now.tokens == begun.tokens && now.ends.isSame(as: begun.ends, for: viewer)
    }
}
