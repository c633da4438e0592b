import VaultModel

/// A value with the evidence for whether an origin's entity tags identify a resource's versions, or only the node that
/// answered.
///
/// The nodes behind one host name, such as those of a CDN, may send the same bytes with different entity tags.
/// Validators that reappear after others have contradicted them come from another node of the same origin.
struct EntityTagReliability {
    private var length: Int64?
    /// The contradicted validators, oldest first. They belong to seemingly different versions that have the same
    /// length.
    private var contradicted: [Validators] = []
    /// Whether the origin's entity tags were found to identify nodes rather than versions, so that they are ignored.
    private(set) var ignoresTags = false

    private static let most = 8

    /// Records validators that an answer with a seemingly different version has contradicted.
    mutating func note(_ validators: Validators, length: Int64?) {
        if length != self.length { (self.length, contradicted) = (length, []) }
        contradicted.removeAll { $0 == validators }
        contradicted.append(validators)
        if contradicted.count > Self.most { contradicted.removeFirst() }
    }

    /// Returns whether these validators have reappeared after being contradicted.
    func isBack(_ validators: Validators, length: Int64?) -> Bool {
        length == self.length && contradicted.contains(validators)
    }

    /// Marks the origin's entity tags as ignored from now on.
    mutating func ignoreTags() { ignoresTags = true }
}
