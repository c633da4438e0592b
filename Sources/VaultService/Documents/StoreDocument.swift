package import MediaVault

/// Whether the store takes what comes, and what made room: the event `store`.
package struct StoreDocument: Codable, Hashable, Sendable {
    package var isStoring: Bool?
    /// Why not, in a word and in a sentence.
    package var reason: String?
    package var message: String?
    /// The bytes that went by unstored, once it takes them again.
    package var passedThrough: Int64?
    /// The bytes of files that made room; where it is there, the event says nothing of what comes.
    package var evicted: Int64?

    package init(_ event: StoreEvent) {
        switch event {
        case .passingThrough(let refusal, let sentence):
            isStoring = false
            reason = refusal.rawValue
            message = sentence
        case .storing(let bytes):
            isStoring = true
            passedThrough = bytes
        case .evicted(_, _, let bytes): evicted = bytes
        }
    }
}
