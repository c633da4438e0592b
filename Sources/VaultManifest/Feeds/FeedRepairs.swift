/// Counts the faults that were repaired while reading a feed, by kind: faults with one likely meaning.
package struct FeedRepairs: Hashable, Sendable {
    /// A kind of fault, in the order in which faults are reported.
    package enum Kind: Int, CaseIterable, Hashable, Sendable {
        case ampersand, angle, entity, control, attribute, tag, before, after, date, sharedName

        fileprivate var words: (one: String, many: String) {
            switch self {
            case .ampersand: ("bare &", "bare &")
            case .angle: ("bare <", "bare <")
            case .entity: ("HTML entity", "HTML entities")
            case .control: ("control character", "control characters")
            case .attribute: ("odd attribute", "odd attributes")
            case .tag: ("odd tag", "odd tags")
            case .before: ("text before the feed", "texts before the feed")
            case .after: ("text after the feed", "texts after the feed")
            case .date: ("unreadable date", "unreadable dates")
            case .sharedName:
                ("entry under its URL because it shares an id", "entries under their URLs because they share an id")
            }
        }
    }

    /// The encoding that was used in place of the stated one; nil if the stated one is right.
    package var encoding: String?
    /// Whether an entry, or its file, may have been read as text.
    package internal(set) var mayHideEntries = false
    private var counts: [Kind: Int] = [:]

    /// Creates a count without repairs.
    package init() {}

    /// Counts faults of a kind.
    package mutating func count(_ kind: Kind, _ number: Int = 1) {
        if number > 0 { counts[kind, default: 0] += number }
    }

    /// Adds the faults of another count.
    mutating func add(_ other: FeedRepairs) {
        counts.merge(other.counts, uniquingKeysWith: +)
        mayHideEntries = mayHideEntries || other.mayHideEntries
    }

    /// A few words for each kind of repair: `3 bare &`.
    package var texts: [String] {
        let faults = Kind.allCases.compactMap { kind in
            counts[kind].map { "\($0) \($0 == 1 ? kind.words.one : kind.words.many)" }
        }
        return (encoding.map { ["text in \($0)"] } ?? []) + faults
    }
}
