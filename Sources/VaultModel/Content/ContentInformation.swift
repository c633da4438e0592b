/// What is known of a representation without its bytes: kept in the vault, and served from it on the next open.
public struct ContentInformation: Hashable, Sendable {
    /// The longest representation there can be: what every JSON reader keeps exactly, 2⁵³ − 1 bytes.
    public static let mostBytes: Int64 = (1 << 53) - 1

    /// The length in bytes, or nil while the origin has not said.
    public var length: Int64?
    /// The media type as the origin gave it, or one guessed from the path; nil where neither is known.
    public var type: String?
    /// The origin's validators.
    public var validators: Validators
    /// Whether the origin answers range requests, proved by a real 206.
    public var supportsRanges: Bool

    /// Facts as an origin gave them.
    public init(length: Int64?, type: String?, validators: Validators, supportsRanges: Bool) {
        self.length = length
        self.type = type
        self.validators = validators
        self.supportsRanges = supportsRanges
    }
}
