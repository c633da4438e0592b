package import MediaVault

/// What pruning let go, as `/api/v1/prunes` and `prune --json` tell it.
package struct PruneDocument: Codable, Hashable, Sendable {
    /// Titles that went whole.
    package let resources: Int
    package let segments: Int
    package let bytes: Int64
    /// The bytes of segment files that are left.
    package let used: Int64

    package init(_ report: PruneReport) {
        resources = report.resources
        segments = report.segments
        bytes = report.bytes
        used = report.used
    }
}
