package import MediaVault

/// How far wrapping all resource keys anew is.
package struct RewrapStep: Codable, Hashable, Sendable {
    package let keys: Int
    package let total: Int

    package init(_ progress: RewrapProgress) {
        keys = progress.keys
        total = progress.total
    }
}
