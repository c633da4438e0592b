package import MediaVault

/// Where the bytes of a resource come from, as `/api/v1/explanation` and `explain --json` tell it.
package struct ExplanationDocument: Codable, Sendable {
    /// Bytes side by side, and where they came from.
    package struct Run: Codable, Hashable, Sendable {
        package let first: Int64
        /// One past the last.
        package let end: Int64
        package let source: ByteTrace.Source
    }

    /// One answer.
    package struct Answer: Codable, Hashable, Sendable {
        /// Seconds since 1970; left out while the answer goes on.
        package let ended: Int64?
        package let bytes: Int64
        package let runs: [Run]
        /// Bytes of runs beyond those that are told.
        package let omitted: Int64
    }

    package let url: String
    package let size: OrNull<Int64>
    /// What the vault holds now: first byte and one past the last, of each run.
    package let held: [[Int64]]
    /// The last answers: those that go on first, then the last that ended.
    package let answers: [Answer]

    package init(_ summary: ResourceSummary?, url: String, answers: [AnswerTrace]) {
        self.url = summary?.url ?? url
        size = OrNull(summary?.size)
        held = summary?.held.map { [$0.lowerBound, $0.upperBound] } ?? []
        self.answers = answers.map { answer in
            Answer(
                ended: answer.ended, bytes: answer.trace.bytes,
                runs: answer.trace.runs.map {
                    Run(first: $0.range.lowerBound, end: $0.range.upperBound, source: $0.source)
                }, omitted: answer.trace.omitted)
        }
    }
}
