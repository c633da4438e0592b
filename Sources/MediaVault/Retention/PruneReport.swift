/// What pruning let go, or would let go.
public struct PruneReport: Hashable, Sendable {
    /// Titles that went whole, with all that was known of them.
    public let resources: Int
    /// Segment files that went.
    public let segments: Int
    /// The bytes of those files.
    public let bytes: Int64
    /// The bytes of segment files that are left.
    public let used: Int64
}
