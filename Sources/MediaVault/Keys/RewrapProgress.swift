/// How far wrapping all resource keys anew is.
public struct RewrapProgress: Hashable, Sendable {
    /// How many were wrapped anew.
    public let keys: Int
    /// How many are to be, as far as was known at the beginning.
    public let total: Int
    /// What it has come to; in the last element alone.
    public let report: RewrapReport?
}
