/// What a reseal came to.
public struct ResealReport: Hashable, Codable, Sendable {
    /// Resources that have a new key, and nothing sealed under an older one.
    public internal(set) var resources = 0
    /// Segments that were sealed anew.
    public internal(set) var segments = 0
    /// Plaintext bytes in them.
    public internal(set) var bytes: Int64 = 0
    /// Pieces of damage that were found: their ranges are gaps from now on.
    public internal(set) var damage = 0
    /// Resources that keep an older key, because their rows or a file cannot be read.
    public internal(set) var problems = 0

    /// What receipts call the resources that were named (``Receipt/subject``), in that order; none where all were meant.
    public let subjects: [String]

    /// Nothing yet.
    init(subjects: [String]) { self.subjects = subjects }
}
