/// How far a check is.
public struct VerifyProgress: Hashable, Codable, Sendable {
    /// Plaintext bytes that have been opened.
    public let bytesOpened: Int64
    /// Plaintext bytes that are to be opened in all, as far as was known at the beginning.
    public let bytesTotal: Int64
    /// Segments that have been looked at.
    public let segments: Int
    /// Segments that are to be looked at.
    public let segmentsTotal: Int
    /// Pieces of damage found so far.
    public let damage: Int
    /// What was found; in the last element alone.
    public let report: VerifyReport?
}
