import VaultModel

/// Counts how often this run of the process ended sessions collectively: all sessions, or all of one viewer.
struct SessionEnds: Hashable, Sendable {
    private var ofAll = 0
    private var ofViewers: [ViewerID: Int] = [:]

    /// Counts one collective end of sessions.
    ///
    /// - Parameter viewer: the viewer whose sessions are ended; nil for all sessions.
    mutating func note(of viewer: ViewerID?) {
        guard let viewer else { return ofAll += 1 }
        ofViewers[viewer, default: 0] += 1
    }

    /// Returns whether no sessions of a viewer, or of the owner if nil, were ended collectively between two counts.
    func isSame(as other: SessionEnds, for viewer: ViewerID?) -> Bool {
        ofAll == other.ofAll && (viewer.map { ofViewers[$0] == other.ofViewers[$0] } ?? true)
    }
}

/// The era in which a ticket was created, or in which someone began to sign in.
///
/// For everyone, a new era begins when all links and tokens are revoked, the root key is replaced, the vault is locked,
/// or all sessions are ended. For one viewer, it begins when their PIN changes or their sessions are ended. A ticket or
/// sign-in from an earlier era admits nobody. Tickets are kept only in memory, so an era need not survive a restart.
package struct SignInEra: Hashable, Sendable {
    /// The token key and epoch in use at that time, as ``TokenIssuer/era`` identifies them.
    let tokens: [UInt8]
    let ends: SessionEnds
}
