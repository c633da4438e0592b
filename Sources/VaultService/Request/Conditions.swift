import VaultModel

/// The conditions of a request (RFC 9110 §13).
struct Conditions: Hashable, Sendable {
    /// The result of evaluating the conditions for a representation.
    enum Verdict: Hashable {
        /// The conditions hold, so the request is answered.
        case hold
        /// The client already has the representation, so the answer is 304.
        case notModified
        /// A condition fails, so the answer is 412.
        case failed
    }

    private let ifMatch: NamedTags?
    private let ifNoneMatch: NamedTags?
    private let ifModifiedSince: HTTPDate?
    private let ifUnmodifiedSince: HTTPDate?
    private let ifRange: [String]

    /// Parses the fields' values. An invalid or repeated date is ignored.
    ///
    /// - Parameter now: the current time in seconds since 1970.
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

    /// Whether `If-Range` makes the range depend on the representation.
    var hasRange: Bool { !ifRange.isEmpty }

    /// Evaluates the conditions in the order of RFC 9110 §13.2.2, so that a tag overrides the corresponding date.
    ///
    /// - Parameter lastModified: the modification date; nil if it is unknown, in which case conditions on dates are
    ///   ignored.
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

    /// Returns whether a range applies to the representation that has this tag (RFC 9110 §13.1.5).
    ///
    /// Tags are compared strongly. A date in `If-Range` never matches, because it is not a strong validator, and each
    /// representation has a tag to use instead.
    func rangeCounts(for tag: EntityTag) -> Bool {
        ifRange.isEmpty || ifRange.count == 1 && (EntityTag(ifRange[0])?.matchesStrongly(tag) ?? false)
    }
}

extension NamedTags {
    /// Returns whether an existing representation matches one of the tags, according to `matches`.
    fileprivate func contains(where matches: (EntityTag) -> Bool) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(where: matches)
        }
    }
}

/// The representations that `If-Match` or `If-None-Match` names (RFC 9110 §13.1.1, §13.1.2).
enum NamedTags: Hashable, Sendable {
    /// Any existing representation, written as `*`.
    case any
    /// The representations that have one of these tags. A field that is not a list of tags yields no tags.
    case tags([EntityTag])

    /// Parses the values of all of a request's fields of the same name; returns nil if there are none.
    init?(_ values: [String]) {
        guard !values.isEmpty else { return nil }
        let list = values.joined(separator: ",")
        self = list.trimmingBlanks() == "*" ? .any : .tags(Self.tags(list) ?? [])
    }

    /// Parses a list of tags, in which a comma within quotation marks is part of a tag.
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
