import MediaVault
import VaultModel

/// A viewer's right to an answer that is being sent. The right is lost when the title is no longer shared, the viewer
/// is removed, or the session ends.
struct ViewerRight: Sendable {
    private let vault: Vault
    private let hidden: HiddenTitle
    /// The session or token whose end also ends the link.
    private let grant: GrantID?

    /// Returns nil if the link is not a viewer's, because answers to the owner's players are not ended early.
    init?(_ link: LinkScope?, of vault: Vault) {
        guard let link, let hidden = link.hidden else { return nil }
        (self.vault, self.hidden, grant) = (vault, hidden, link.grant)
    }

    private var isHeld: Bool {
        vault.viewers.isShared(hidden.title, with: hidden.viewer)
            && grant.map { vault.tokens.isInForce($0) } ?? true
    }

    /// Calls `onLoss` once if the right is lost before ``Watching/end()`` is called. The watch does no work until
    /// something changes.
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
            vault: vault, lost: lost, viewers: vault.viewers.listen(check), grants: vault.access.listenToGrants(check))
        // The right may have been lost before the listeners were added.
        check()
        return watching
    }

    /// Records whether a right was lost.
    fileprivate final class Lost: Sendable {
        let isLost = Locked(false)
    }

    /// An active watch.
    struct Watching: Sendable {
        fileprivate let vault: Vault
        fileprivate let lost: Lost
        fileprivate let viewers: Int
        fileprivate let grants: (grants: Int, keys: Int)

        /// Whether the right was lost during the watch.
        var isLost: Bool { lost.isLost.withLock { $0 } }

        /// Ends the watch.
        func end() {
            vault.viewers.stopListening(viewers)
            vault.access.stopListeningToGrants(grants)
        }
    }
}
