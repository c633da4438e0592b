import HTTPTypes
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

extension MediaRequest {
    /// Reads a request for media.
    ///
    /// - Parameter now: seconds since 1970.
    init(_ method: Method, _ fields: HTTPFields, now: Int64) {
        self.init(
            method: method, range: fields[values: .range],
            conditions: Conditions(
                ifMatch: fields[values: .ifMatch], ifNoneMatch: fields[values: .ifNoneMatch],
                ifModifiedSince: fields[values: .ifModifiedSince],
                ifUnmodifiedSince: fields[values: .ifUnmodifiedSince], ifRange: fields[values: .ifRange], now: now))
    }
}

/// The bytes that answer a request, once the representation is known.
enum Selection: Hashable, Sendable {
    /// Everything.
    case whole
    /// One range.
    case single(RequestedRange)
    /// Several that do not overlap, in the order they were asked for.
    case several([ByteRange])
    /// None that there are: 416.
    case nothing

    /// What a request comes to that need not know the representation.
    init(_ wanted: MediaRequest.Wanted) {
        self =
            switch wanted {
            case .single(let range): .single(range)
            case .whole, .several: .whole
            case .nothing: .nothing
            }
    }

    /// What a request comes to for a representation.
    init(_ request: MediaRequest, of facts: MediaFacts) {
        guard request.conditions.rangeCounts(for: facts.entityTag) else {
            self = .whole
            return
        }
        // Parts say where they lie in the whole, so its length must be known.
        guard case .several(let ranges) = request.wanted, let length = facts.information.length, !facts.isWholeAnswer
        else {
            self.init(request.wanted)
            return
        }
        self =
            switch RangeSelection(ranges, length: length) {
            case .nothing: length == 0 && ranges.contains(where: \.isSuffix) ? .whole : .nothing
            case .single(let range): .single(range.asRequested)
            case .several(let ranges): .several(ranges)
            case .overlapping: .whole
            }
    }
}

extension RequestedRange {
    /// Whether it asks for the last bytes, one at least: of nothing that is everything (RFC 9110 §14.1.2).
    var isSuffix: Bool {
        guard case .suffix(let count) = self else { return false }
        return count > 0
    }
}

extension ByteRange {
    /// The range as a request would name it; it is not empty.
    var asRequested: RequestedRange { .closed(first: lowerBound, last: upperBound - 1) }
}
