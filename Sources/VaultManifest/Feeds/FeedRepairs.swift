/// Counts, by kind, the faults that were repaired while a feed was read. Only faults with one likely meaning are
/// repaired.
package struct FeedRepairs: Hashable, Sendable {
    /// A kind of fault. The kinds are listed in the order in which they are reported.
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

    /// The encoding that was used in place of the stated one; nil if no replacement was needed.
    package var encoding: String?
    /// Whether an entry, or an entry's file, may have been mistaken for text.
    package internal(set) var mayHideEntries = false
    private var counts: [Kind: Int] = [:]

    /// Creates an empty count.
    package init() {}

    /// Counts a number of faults of one kind.
    package mutating func count(_ kind: Kind, _ number: Int = 1) {
        if number > 0 { counts[kind, default: 0] += number }
    }

    /// Adds the faults from another count.
    mutating func add(_ other: FeedRepairs) {
        counts.merge(other.counts, uniquingKeysWith: +)
        mayHideEntries = mayHideEntries || other.mayHideEntries
    }

    /// A short description of each kind of repair, such as `3 bare &`.
    package var texts: [String] {
        let faults = Kind.allCases.compactMap { kind in
            counts[kind].map { "\($0) \($0 == 1 ? kind.words.one : kind.words.many)" }
        }
        return (encoding.map { ["text in \($0)"] } ?? []) + faults
    }
}
