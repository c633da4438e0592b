/// What ``Vault/restoreKeyring(_:from:unlock:adding:keepingSlots:force:)`` did.
public struct RestoreReport: Hashable, Sendable {
    /// The revision of the keyring now.
    public let revision: Int64
    /// The generations that it opens, in ascending order.
    public let generations: [Int]
    /// What was lost or undone, a clause each; empty where all is as it was.
    public let warnings: [String]
    /// Where the keyring that was replaced is kept; nil where there was none.
    public let kept: String?
    /// The ways to unlock the keyring now.
    public let slots: [KeyringSlot]
    /// The ways that the keyring which was replaced had, as far as it can be read, and this one has not.
    public let lostSlots: [KeyringSlot]
}
