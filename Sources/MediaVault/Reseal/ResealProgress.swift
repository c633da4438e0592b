/// How far a reseal is.
public struct ResealProgress: Hashable, Codable, Sendable {
    /// Plaintext bytes that were sealed anew.
    public let bytes: Int64
    /// Plaintext bytes that are to be sealed anew in all, as far as was known at the beginning.
    public let bytesTotal: Int64
    /// Resources that are done.
    public let resources: Int
    /// Resources that are to be done.
    public let resourcesTotal: Int
    /// What it came to; in the last element alone.
    public let report: ResealReport?
}
