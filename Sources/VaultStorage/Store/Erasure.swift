/// What has still to be erased in the index, after rows were deleted or changed there.
enum Erasure: Comparable, Sendable {
    /// Sealed keys.
    case keys
    /// Sealed keys, and what names a title or tells of it.
    case titles

    /// The tables where it may stand.
    var tables: [String] {
        switch self {
        case .keys: ["resourceKey"]
        case .titles: ["resource", "resourceKey", "representation"]
        }
    }
}
