import VaultModel

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
