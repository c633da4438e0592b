package import VaultModel

/// The latest answers for each of the most recently read resources. The log is bounded, and kept only in memory.
package final class AnswerLog: Sendable {
    private let answers = Locked<[ResourceID: [AnswerTrace]]>([:])

    /// The maximum number of answers kept per resource, and of resources.
    static let maxAnswers = 16
    static let maxResources = 256

    package init() {}

    /// Records finished answers.
    package func note(_ traces: [ByteTrace], of resource: ResourceID, at time: Int64) {
        for trace in traces where trace.bytes > 0 {
            answers.withLock { answers in
                if answers[resource] == nil, answers.count >= Self.maxResources { Self.forgetOldest(&answers) }
                answers[resource, default: []].append(AnswerTrace(ended: time, trace: trace))
                if answers[resource, default: []].count > Self.maxAnswers { answers[resource]?.removeFirst() }
            }
        }
    }

    /// Returns the answers for a resource, latest first.
    func answers(of resource: ResourceID) -> [AnswerTrace] { answers.withLock { $0[resource] ?? [] }.reversed() }

    /// Forgets the answers for a resource that was removed.
    func forget(_ resource: ResourceID) { answers.withLock { $0[resource] = nil } }

    /// Forgets all answers, because the vault has been closed.
    package func forget() { answers.withLock { $0 = [:] } }

    private static func forgetOldest(_ answers: inout [ResourceID: [AnswerTrace]]) {
        let oldest = answers.min { ($0.value.last?.ended ?? 0) < ($1.value.last?.ended ?? 0) }
        if let oldest { answers[oldest.key] = nil }
    }
}

/// One answer, with where its bytes came from and when it ended.
package struct AnswerTrace: Hashable, Sendable {
    /// When the answer ended, in seconds since 1970; nil while it is still running.
    package let ended: Int64?
    package let trace: ByteTrace
}

/// Where the bytes delivered to a reader came from, run by run. A pure value.
package struct ByteTrace: Hashable, Sendable {
    /// The source of a byte.
    package enum Source: String, Codable, Sendable, CaseIterable {
        /// A sealed segment in the vault.
        case vault
        /// The origin, during this answer. The byte was also sealed.
        case origin
        /// The origin, during this answer. The byte was delivered without being stored.
        case unstored
    }

    /// A run of adjacent bytes from one source.
    package struct Run: Hashable, Sendable {
        package let range: ByteRange
        package let source: Source
    }

    /// The runs, in the order in which they were delivered.
    package private(set) var runs: [Run] = []
    /// The number of bytes delivered after ``maxRuns`` runs, whose runs are not listed.
    package private(set) var omitted: Int64 = 0

    /// The maximum number of runs that are listed.
    static let maxRuns = 64

    init() {}

    /// Creates a trace of bytes that all came from one source.
    package init(_ range: ByteRange, _ source: Source) { runs = [Run(range: range, source: source)] }

    /// Records a run of delivered bytes.
    mutating func note(_ range: ByteRange, _ source: Source) {
        guard !range.isEmpty else { return }
        if let last = runs.last, last.source == source, last.range.upperBound == range.lowerBound, omitted == 0 {
            runs[runs.count - 1] = Run(range: last.range.lowerBound..<range.upperBound, source: source)
        } else if runs.count < Self.maxRuns {
            runs.append(Run(range: range, source: source))
        } else {
            omitted += range.length
        }
    }

    /// The number of bytes delivered.
    package var bytes: Int64 { runs.reduce(omitted) { $0 + $1.range.length } }

    /// Returns the number of listed bytes that came from a source.
    func bytes(from source: Source) -> Int64 {
        runs.reduce(0) { $0 + ($1.source == source ? $1.range.length : 0) }
    }
}
