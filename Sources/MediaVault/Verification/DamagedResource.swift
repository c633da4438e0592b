/// A resource of which something was damaged.
public struct DamagedResource: Hashable, Codable, Sendable {
    /// Its id in the vault, 64 hex digits.
    public let id: String
    /// Its URL without the query; nil where the rows that hold it do not open.
    public let url: String?
    /// How much damage of each kind it had.
    public let damage: [DamageClass: Int]
    /// The ranges that could not be opened, in ascending order.
    public let ranges: [ByteRange]
    /// Whether all of it was mended.
    public let isRepaired: Bool
    /// Why it was not, and what to do; nil where it was, or was not tried.
    public let problem: String?

    /// The bytes that could not be opened.
    public var bytes: Int64 { ranges.reduce(0) { $0 + $1.length } }
}
