package import VaultModel

/// Where the bytes that a reader was given came from, run by run: a value.
package struct ByteTrace: Hashable, Sendable {
    /// Where a byte came from.
    package enum Source: String, Codable, Sendable, CaseIterable {
        /// It was opened from a sealed segment.
        case vault
        /// It had just come from the origin, and was sealed.
        case origin
        /// It had just come from the origin, and was handed on without being stored.
        case unstored
    }

    /// Bytes side by side that came from one place.
    package struct Run: Hashable, Sendable {
        package let range: ByteRange
        package let source: Source
    }

    /// The runs in the order in which they were given.
    package private(set) var runs: [Run] = []
    /// Bytes of runs that are not told: more changes of place than anybody reads.
    package private(set) var omitted: Int64 = 0

    /// The most runs that are told.
    static let mostRuns = 64

    package init() {}

    /// Bytes that all came from one place.
    init(_ range: ByteRange, _ source: Source) { runs = [Run(range: range, source: source)] }

    /// Bytes were given.
    mutating func note(_ range: ByteRange, _ source: Source) {
        guard !range.isEmpty else { return }
        if let last = runs.last, last.source == source, last.range.upperBound == range.lowerBound, omitted == 0 {
            runs[runs.count - 1] = Run(range: last.range.lowerBound..<range.upperBound, source: source)
        } else if runs.count < Self.mostRuns {
            runs.append(Run(range: range, source: source))
        } else {
            omitted += range.length
        }
    }

    /// All bytes that were given.
    package var bytes: Int64 { runs.reduce(omitted) { $0 + $1.range.length } }

    /// How many bytes came from a place, of those that are told.
    package func bytes(from source: Source) -> Int64 {
        runs.reduce(0) { $0 + ($1.source == source ? $1.range.length : 0) }
    }
}
