extension Vault {
    /// Where each byte of the last answers of a resource came from: those that go on first, then the last that ended.
    package func lastAnswers(of reference: MediaReference) async throws -> [AnswerTrace] {
        let id = try await name(reference).id
        let running = loader(of: id)?.look { $0.runningTraces } ?? []
        return running.map { AnswerTrace(ended: nil, trace: $0) } + answers.answers(of: id)
    }
}
