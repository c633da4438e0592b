import VaultStorage

/// What is left of a reseal that was not finished.
public struct ResealRest: Hashable, Sendable {
    /// Resources that are not done: not begun, or with an older key beside the one in use.
    public let resources: Int
    /// Plaintext bytes of theirs that are still to be sealed anew.
    public let bytes: Int64
    /// Whether the vault goes on with it. Where not, it is over, and these could not be sealed anew in whole.
    public let isDue: Bool

    init(_ backlog: ResealBacklog) {
        resources = backlog.resources
        bytes = backlog.bytes
        isDue = backlog.isDue
    }
}
