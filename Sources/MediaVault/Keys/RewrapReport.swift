/// What wrapping all resource keys anew has come to.
public struct RewrapReport: Hashable, Sendable {
    /// The generation that wraps them now.
    public let generation: Int
    /// How many were wrapped anew.
    public let keys: Int
    /// How many do not open, and stay as they are: what they seal is damaged.
    public let unopened: Int
    /// The other generations that the keyring still has.
    public let older: [Int]
}
