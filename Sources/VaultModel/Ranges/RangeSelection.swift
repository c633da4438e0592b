/// What several ranges of one request come to, once the length is known (RFC 9110 §14.2, §15.3.7).
public enum RangeSelection: Hashable, Sendable {
    /// No byte of any of them exists: answer 416.
    case nothing
    /// Only of one do bytes exist.
    case single(ByteRange)
    /// The bytes of each that has any, in the order they were asked for; no byte is in two of them.
    case several([ByteRange])
    /// Some bytes were asked for more than once: answer with everything, so that no request costs more than that.
    case overlapping

    /// What the ranges come to in a representation of `length` bytes.
    public init(_ requested: [RequestedRange], length: Int64) {
        let ranges = requested.compactMap { $0.resolved(length: length) }
        if ranges.isEmpty {
            self = .nothing
        } else if ranges.count == 1 {
            self = .single(ranges[0])
        } else {
            let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
            let isDisjoint = zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }
            self = isDisjoint ? .several(ranges) : .overlapping
        }
    }
}
