import VaultModel

/// What a request makes its answer depend on (RFC 9110 §13).
struct Conditions: Hashable, Sendable {
    /// What they come to for one representation.
    enum Verdict: Hashable {
        /// The request is answered.
        case hold
        /// The client has what it asks for: 304.
        case notModified
        /// 412.
        case failed
    }

    private let ifMatch: NamedTags?
    private let ifNoneMatch: NamedTags?
    private let ifModifiedSince: HTTPDate?
    private let ifUnmodifiedSince: HTTPDate?
    private let ifRange: [String]

    /// Reads the values of the fields. A date that is none, or of which there are two, is as if it were not there.
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

    /// Whether there are any but that of a range.
    var hasAny: Bool {
        ifMatch != nil || ifNoneMatch != nil || ifModifiedSince != nil || ifUnmodifiedSince != nil
    }

    /// Whether a range depends on its representation.
    var hasRange: Bool { !ifRange.isEmpty }

    /// What they come to, in the order of RFC 9110 §13.2.2: a tag makes the date beside it mean nothing.
    ///
    /// - Parameter lastModified: nil where it is not known; dates then mean nothing.
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

    /// Whether a range counts for the representation with this tag. Only strong comparison will do, and a date is no
    /// strong validator: each representation has a tag to name (RFC 9110 §13.1.5).
    func rangeCounts(for tag: EntityTag) -> Bool {
        ifRange.isEmpty || ifRange.count == 1 && (EntityTag(ifRange[0])?.matchesStrongly(tag) ?? false)
    }
}

extension NamedTags {
    /// Whether a representation that there is has one of the tags, by the comparison given.
    fileprivate func contains(where matches: (EntityTag) -> Bool) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): tags.contains(where: matches)
        }
    }
}

/// The representations that `If-Match` or `If-None-Match` names (RFC 9110 §13.1.1, §13.1.2).
enum NamedTags: Hashable, Sendable {
    /// Any that there is: `*`.
    case any
    /// Those with one of these tags. A field that is no list of tags names none.
    case tags([EntityTag])

    /// Reads the values of all such fields of a request; nil where there are none.
    init?(_ values: [String]) {
        guard !values.isEmpty else { return nil }
        let list = values.joined(separator: ",")
        self = list.trimmingBlanks() == "*" ? .any : .tags(Self.tags(list) ?? [])
    }

    /// A comma within quotes belongs to its tag.
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
