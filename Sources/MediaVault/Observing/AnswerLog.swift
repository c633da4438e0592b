package import VaultModel

/// The latest answers for the most recently read resources: bounded, in memory only.
final class AnswerLog: Sendable {
    private let answers = Locked<[ResourceID: [AnswerTrace]]>([:])

    /// The maximum number of answers per resource, and of resources.
    static let maxAnswers = 16
    static let maxResources = 256

    /// Records finished answers.
    func note(_ traces: [ByteTrace], of resource: ResourceID, at time: Int64) {
        for trace in traces where trace.bytes > 0 {
            answers.withLock { answers in
                if answers[resource] == nil, answers.count >= Self.maxResources { Self.forgetOldest(&answers) }
                answers[resource, default: []].append(AnswerTrace(ended: time, trace: trace))
                if answers[resource, default: []].count > Self.maxAnswers { answers[resource]?.removeFirst() }
            }
        }
    }

    /// Returns the answers of a resource, latest first.
    func answers(of resource: ResourceID) -> [AnswerTrace] { answers.withLock { $0[resource] ?? [] }.reversed() }

    /// Forgets the answers of a resource that was removed.
    func forget(_ resource: ResourceID) { answers.withLock { $0[resource] = nil } }

    /// Forgets all answers, because the vault is closed.
    func forget() { answers.withLock { $0 = [:] } }

    private static func forgetOldest(_ answers: inout [ResourceID: [AnswerTrace]]) {
        let oldest = answers.min { ($0.value.last?.ended ?? 0) < ($1.value.last?.ended ?? 0) }
        if let oldest { answers[oldest.key] = nil }
    }
}

/// One answer: where its bytes came from, and when it ended.
package struct AnswerTrace: Hashable, Sendable {
    /// Seconds since 1970; nil while the answer is still running.
    package let ended: Int64?
    package let trace: ByteTrace
}

/// The sources of the bytes delivered to a reader, run by run. A pure value.
package struct ByteTrace: Hashable, Sendable {
    /// Where a byte came from.
    package enum Source: String, Codable, Sendable, CaseIterable {
        /// A sealed segment in the vault.
        case vault
        /// The origin, during this answer; the byte was also sealed.
        case origin
        /// The origin, during this answer; the byte was delivered without being stored.
        case unstored
    }

    /// Adjacent bytes from one source.
    package struct Run: Hashable, Sendable {
        package let range: ByteRange
        package let source: Source
    }

    /// The runs, in the order of delivery.
    package private(set) var runs: [Run] = []
    /// The number of bytes in runs beyond ``maxRuns``, which are not listed.
    package private(set) var omitted: Int64 = 0

    /// The maximum number of runs to list.
    static let maxRuns = 64

    package init() {}

    /// Creates a trace of bytes that all came from one source.
    init(_ range: ByteRange, _ source: Source) { runs = [Run(range: range, source: source)] }

    /// Records delivered bytes.
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

    /// Returns how many of the listed bytes came from a source.
    package func bytes(from source: Source) -> Int64 {
        runs.reduce(0) { $0 + ($1.source == source ? $1.range.length : 0) }
    }
}
