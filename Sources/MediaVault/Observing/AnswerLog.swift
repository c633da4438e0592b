package import VaultModel

/// The last answers of the resources that were read last: a bounded memory, gone with the process.
final class AnswerLog: Sendable {
    private let answers = Locked<[ResourceID: [AnswerTrace]]>([:])

    /// How many answers of a resource are remembered, and of how many resources.
    static let mostAnswers = 16
    static let mostResources = 256

    /// Notes answers that have ended.
    func note(_ traces: [ByteTrace], of resource: ResourceID, at time: Int64) {
        for trace in traces where trace.bytes > 0 {
            answers.withLock { answers in
                if answers[resource] == nil, answers.count >= Self.mostResources { Self.forgetOldest(&answers) }
                answers[resource, default: []].append(AnswerTrace(ended: time, trace: trace))
                if answers[resource, default: []].count > Self.mostAnswers { answers[resource]?.removeFirst() }
            }
        }
    }

    /// The answers of a resource, the last one first.
    func answers(of resource: ResourceID) -> [AnswerTrace] { answers.withLock { $0[resource] ?? [] }.reversed() }

    /// What is removed is not spoken of.
    func forget(_ resource: ResourceID) { answers.withLock { $0[resource] = nil } }

    private static func forgetOldest(_ answers: inout [ResourceID: [AnswerTrace]]) {
        let oldest = answers.min { ($0.value.last?.ended ?? 0) < ($1.value.last?.ended ?? 0) }
        if let oldest { answers[oldest.key] = nil }
    }
}

/// One answer: where its bytes came from, and when it ended.
package struct AnswerTrace: Hashable, Sendable {
    /// Seconds since 1970; nil while it goes on.
    package let ended: Int64?
    package let trace: ByteTrace
}

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

extension Vault {
    /// Where each byte of the last answers of a resource came from: those that go on first, then the last that ended.
    package func lastAnswers(of reference: MediaReference) async throws -> [AnswerTrace] {
        let id = try await name(reference).id
        let running = loader(of: id)?.look { $0.runningTraces } ?? []
        return running.map { AnswerTrace(ended: nil, trace: $0) } + answers.answers(of: id)
    }
}
