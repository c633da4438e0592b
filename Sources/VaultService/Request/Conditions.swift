import VaultModel

/// The conditions of a request (RFC 9110 §13).
struct Conditions: Hashable, Sendable {
    /// The result of the conditions for one representation.
    enum Verdict: Hashable {
        /// The conditions hold, so the request is answered.
        case hold
        /// The client already has the representation: 304.
        case notModified
        /// A condition fails: 412.
        case failed
    }

    private let ifMatch: NamedTags?
    private let ifNoneMatch: NamedTags?
    private let ifModifiedSince: HTTPDate?
    private let ifUnmodifiedSince: HTTPDate?
    private let ifRange: [String]

    /// Parses the values of the fields; an invalid or repeated date is ignored.
    ///
    /// - Parameter now: seconds since 1970.
    init(
        ifMatch: [String] = [], ifNoneMatch: [String] = [], ifModifiedSince: [String] = [],
        ifUnmodifiedSince: [String] = [], ifRange: [String] = [], now: Int64
    ) {
        func date(_ values: [String]) -> HTTPDate? { values.count == 1 ? HTTPDate(values[0], now: now) : nil }
        self.ifMatch = NamedTags(ifMatch)
        self.ifNoneMatch = NamedTags(ifNoneMatch)
        self.ifModifiedSince = date(ifModifiedSince)
        self.ifUnmodifiedSince = date(ifUnmodifiedSince)
        self.ifRange = ifRange
    }

    /// No conditions.
    static let none = Conditions(now: 0)

    /// Whether there are conditions other than `If-Range`.
    var hasAny: Bool {
        ifMatch != nil || ifNoneMatch != nil || ifModifiedSince != nil || ifUnmodifiedSince != nil
    }

    /// Whether the range depends on the representation, by `If-Range`.
    var hasRange: Bool { !ifRange.isEmpty }

    /// Evaluates the conditions in the order of RFC 9110 §13.2.2: a tag overrides the date beside it.
    ///
    /// - Parameter lastModified: the modification date; nil if unknown, in which case conditions on dates are ignored.
    func verdict(on tag: EntityTag, _ lastModified: HTTPDate?) -> Verdict {
        if let ifMatch {
            guard ifMatch.contains(where: { $0.matchesStrongly(tag) }) else { return .failed }
        } else if let limit = ifUnmodifiedSince, let lastModified, lastModified > limit {
            return .failed
        }
        if let ifNoneMatch {
            if ifNoneMatch.contains(where: { $0.matchesWeakly(tag) }) { return .notModified }
        } else if let limit = ifModifiedSince, let lastModified, lastModified <= limit {
            return .notModified
        }
        return .hold
    }

    /// Returns whether a range applies to the representation with this tag (RFC 9110 §13.1.5).
    ///
    /// Only strong comparison counts. A date is not a strong validator: each representation has a tag to use instead.
    func rangeCounts(for tag: EntityTag) -> Bool {
        ifRange.isEmpty || ifRange.count == 1 && (EntityTag(ifRange[0])?.matchesStrongly(tag) ?? false)
    }
}

extension NamedTags {
    /// Returns whether an existing representation has one of the tags, by the given comparison.
    fileprivate func contains(where matches: (EntityTag) -> Bool) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(where: matches)
        }
    }
}

/// The representations that `If-Match` or `If-None-Match` names (RFC 9110 §13.1.1, §13.1.2).
enum NamedTags: Hashable, Sendable {
    /// Any existing representation: `*`.
    case any
    /// Representations with one of these tags; a field that is not a list of tags names none.
    case tags([EntityTag])

    /// Parses the values of all such fields of a request; nil if there are none.
    init?(_ values: [String]) {
        guard !values.isEmpty else { return nil }
        let list = values.joined(separator: ",")
        self = list.trimmingBlanks() == "*" ? .any : .tags(Self.tags(list) ?? [])
    }

    /// Parses a list of tags, in which a comma within quotes belongs to its tag.
    private static func tags(_ list: String) -> [EntityTag]? {
        var tags: [EntityTag] = []
        var rest = list.utf8[...]
        while true {
            rest = rest.drop { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard !rest.isEmpty else { return tags }
            guard let opening = rest.firstIndex(of: UInt8(ascii: "\"")),
                let closing = rest[rest.index(after: opening)...].firstIndex(of: UInt8(ascii: "\"")),
                let tag = EntityTag(Substring(rest[...closing]))
            else { return nil }
            tags.append(tag)
            rest = rest[rest.index(after: closing)...]
            let next = rest.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            guard next == nil || next == UInt8(ascii: ",") else { return nil }
        }
    }
}
