import VaultModel

/// What a request asks of a resource.
struct MediaRequest: Hashable, Sendable {
    enum Method: Hashable, Sendable { case get, head }

    /// What its `Range` comes to, before its `If-Range` is looked at.
    enum Wanted: Hashable, Sendable {
        /// Everything: no range, or one that is to be ignored.
        case whole
        /// One range.
        case single(RequestedRange)
        /// A range that no representation has.
        case nothing
    }

    let method: Method
    let wanted: Wanted
    /// The values of `If-Range`.
    private let conditions: [String]

    /// Reads the fields of a request; several `Range` lines, and several ranges in one, ask for everything.
    init(method: Method, range: [String] = [], ifRange: [String] = []) {
        self.method = method
        conditions = ifRange
        // GET is the only method for which range handling is defined (RFC 9110 §14.2).
        switch method == .get && range.count == 1 ? RangeHeader(range[0]) : .ignored {
        case .ranges(let ranges) where ranges == [.suffix(0)]: wanted = .nothing
        case .ranges(let ranges) where ranges.count == 1: wanted = .single(ranges[0])
        case .ranges, .ignored: wanted = .whole
        case .malformed: wanted = .nothing
        }
    }

    /// Whether `If-Range` has to be compared before the range may count.
    var isConditional: Bool { wanted != .whole && !conditions.isEmpty }

    /// Whether the range counts for the representation with this tag: by strong comparison only, so a date never
    /// matches (RFC 9110 §13.1.5).
    func rangeCounts(for tag: EntityTag) -> Bool {
        conditions.isEmpty
            || conditions.count == 1 && (EntityTag(conditions[0])?.matchesStrongly(tag) ?? false)
    }
}
