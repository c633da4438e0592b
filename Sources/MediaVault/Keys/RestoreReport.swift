/// What ``Vault/restoreKeyring(_:from:unlock:adding:force:)`` did.
public struct RestoreReport: Hashable, Sendable {
    /// The revision of the keyring now.
    public let revision: Int64
    /// The generations that it opens, in ascending order.
    public let generations: [Int]
    /// What was lost or undone, a clause each; empty where all is as it was.
    public let warnings: [String]
    /// Where the keyring that was replaced is kept; nil where there was none.
    public let kept: String?
}
