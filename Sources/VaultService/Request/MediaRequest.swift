import VaultModel

/// What a request asks of a resource.
struct MediaRequest: Hashable, Sendable {
    enum Method: Hashable, Sendable { case get, head }

    /// What its `Range` comes to, before the representation is known.
    enum Wanted: Hashable, Sendable {
        /// Everything: no range, or one that is to be ignored.
        case whole
        /// One range.
        case single(RequestedRange)
        /// Two ranges or more.
        case several([RequestedRange])
        /// A range that no representation has.
        case nothing
    }

    let method: Method
    let wanted: Wanted
    let conditions: Conditions

    /// Reads the fields of a request; several `Range` lines ask for everything.
    init(method: Method, range: [String] = [], conditions: Conditions = .none) {
        self.method = method
        self.conditions = conditions
        // GET is the only method for which range handling is defined (RFC 9110 §14.2).
        switch method == .get && range.count == 1 ? RangeHeader(range[0]) : .ignored {
        case .ranges(let ranges) where ranges.count > 1: wanted = .several(ranges)
        case .ranges(let ranges) where ranges == [.suffix(0)]: wanted = .nothing
        case .ranges(let ranges): wanted = ranges.first.map { .single($0) } ?? .whole
        case .ignored: wanted = .whole
        case .malformed: wanted = .nothing
        }
    }

    /// Whether the representation must be known before it is opened. One range of it, or all of it, need not wait for
    /// that.
    var needsFacts: Bool {
        if method == .head || conditions.hasAny { return true }
        return switch wanted {
        case .whole: false
        case .single: conditions.hasRange
        case .several, .nothing: true
        }
    }
}
