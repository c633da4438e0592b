import VaultModel

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
