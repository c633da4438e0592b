import HTTPTypes
import VaultModel

/// A request for a resource, consisting of its method, range and conditions.
struct MediaRequest: Hashable, Sendable {
    enum Method: Hashable, Sendable { case get, head }

    /// The requested bytes, as determined before the representation is known.
    enum Wanted: Hashable, Sendable {
        /// All bytes, because there is no range, or the range must be ignored.
        case whole
        /// One range.
        case single(RequestedRange)
        /// Two or more ranges.
        case several([RequestedRange])
        /// A range that no representation can satisfy.
        case nothing
    }

    let method: Method
    let wanted: Wanted
    let conditions: Conditions

    /// Parses a request's fields. If there are several `Range` lines, the whole resource is requested.
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

    /// Whether an answer with media starts at the first byte, so that the answer shows the kind of content.
    var showsBeginning: Bool { immediateRange.map { $0 == .whole || $0.firstByte == 0 } ?? false }

    /// The range that can be opened at once; nil if the answer depends on the representation, whose facts must be known
    /// first.
    var immediateRange: RequestedRange? {
        guard method == .get, !conditions.hasAny else { return nil }
        return switch wanted {
        case .whole: .whole
        case .single(let range): conditions.hasRange ? nil : range
        case .several, .nothing: nil
        }
    }
}

extension MediaRequest {
    /// Parses a request for media.
    ///
    /// - Parameter now: the current time in seconds since 1970.
    init(_ method: Method, _ fields: HTTPFields, now: Int64) {
        self.init(
            method: method, range: fields[values: .range],
            conditions: Conditions(
                ifMatch: fields[values: .ifMatch], ifNoneMatch: fields[values: .ifNoneMatch],
                ifModifiedSince: fields[values: .ifModifiedSince],
                ifUnmodifiedSince: fields[values: .ifUnmodifiedSince], ifRange: fields[values: .ifRange], now: now))
    }
}

/// The bytes that answer a request, as determined once the representation is known.
enum Selection: Hashable, Sendable {
    /// All bytes.
    case whole
    /// One range.
    case single(RequestedRange)
    /// Several ranges, which do not overlap, in the requested order.
    case several([ByteRange])
    /// No existing bytes, so the answer is 416.
    case nothing

    /// Creates the selection from the requested bytes alone. Several ranges select the whole.
    init(_ wanted: MediaRequest.Wanted) {
        self =
            switch wanted {
            case .single(let range): .single(range)
            case .whole, .several: .whole
            case .nothing: .nothing
            }
    }

    /// Creates the selection for a request, given the facts of its representation.
    init(_ request: MediaRequest, of facts: MediaFacts) {
        guard request.conditions.rangeCounts(for: facts.entityTag) else {
            self = .whole
            return
        }
        // Each part of an answer states its position in the whole, so the length must be known.
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
    /// Whether this is a suffix range of at least one byte.
    ///
    /// For an empty representation, such a range is the whole representation (RFC 9110 §14.1.2).
    var isSuffix: Bool {
        guard case .suffix(let count) = self else { return false }
        return count > 0
    }
}

extension ByteRange {
    /// The range in the form that a request uses. The range must not be empty.
    var asRequested: RequestedRange { .closed(first: lowerBound, last: upperBound - 1) }
}
