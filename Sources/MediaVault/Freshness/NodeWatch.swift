import VaultModel

/// What answers have said of content of one length that seemed to be different versions: what is said again after it was
/// contradicted comes from another node of the same origin. A value.
struct NodeWatch {
    private var length: Int64?
    /// The oldest first.
    private var contradicted: [Validators] = []
    /// Whether the origin's entity tags were found to tell nodes, not versions.
    private(set) var ignoresTags = false

    private static let most = 8

    /// One version is followed by what seems to be another.
    mutating func note(_ validators: Validators, length: Int64?) {
        if length != self.length { (self.length, contradicted) = (length, []) }
        contradicted.removeAll { $0 == validators }
        contradicted.append(validators)
        if contradicted.count > Self.most { contradicted.removeFirst() }
    }

    /// Whether this was said before, and contradicted since.
    func isBack(_ validators: Validators, length: Int64?) -> Bool {
        length == self.length && contradicted.contains(validators)
    }

    /// From now on entity tags say nothing.
    mutating func ignoreTags() { ignoresTags = true }
}
