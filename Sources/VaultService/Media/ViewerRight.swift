import MediaVault
import VaultModel

/// The right of a viewer to an answer that is being sent: it ends with the share, the viewer and the session.
struct ViewerRight: Sendable {
    private let vault: Vault
    private let hidden: HiddenTitle
    /// The session or token that the link ends with.
    private let grant: GrantID?

    /// Nil if the link is not a viewer's: what was sent to the owner's players goes on.
    init?(_ link: LinkScope?, of vault: Vault) {
        guard let link, let hidden = link.hidden else { return nil }
        (self.vault, self.hidden, grant) = (vault, hidden, link.grant)
    }

    private var isHeld: Bool {
        vault.viewers.isShared(hidden.title, with: hidden.viewer)
            && grant.map { vault.tokens.isInForce($0) } ?? true
    }

    /// Calls `onLoss` once the right is lost, until ``Watching/end()``. It costs nothing while nothing changes.
    func watch(_ onLoss: @escaping @Sendable () -> Void) -> Watching {
        let lost = Lost()
        let check: @Sendable () -> Void = { [self] in
            guard !isHeld else { return }
            let isFirst = lost.isLost.withLock { isLost in
                defer { isLost = true }
                return !isLost
            }
            if isFirst { onLoss() }
        }
        let watching = Watching(
            vault: vault, lost: lost, viewers: vault.viewers.listen(check), grants: vault.listenToGrants(check))
        // It may have been lost before that.
        check()
        return watching
    }

    /// Whether a right was lost.
    fileprivate final class Lost: Sendable {
        let isLost = Locked(false)
    }

    /// An active watch.
    struct Watching: Sendable {
        fileprivate let vault: Vault
        fileprivate let lost: Lost
        fileprivate let viewers: Int
        fileprivate let grants: (grants: Int, keys: Int)

        /// Whether the right was lost meanwhile.
        var isLost: Bool { lost.isLost.withLock { $0 } }

        /// Ends the watch.
        func end() {
            vault.viewers.stopListening(viewers)
            vault.stopListeningToGrants(grants)
        }
    }
}
