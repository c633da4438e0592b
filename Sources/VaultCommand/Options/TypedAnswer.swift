/// The line that a user types in answer to a question.
enum TypedAnswer {
    /// The queue on which questions wait for answers. An abandoned question blocks this queue until the process ends.
    private static let questions = BlockingQueue("mediavault.question")

    /// Returns the line without its line end; nil at the end of input. If the task is cancelled, this throws at once.
    static func read() async throws -> String? { try await questions.run { readLine() } }

    /// Returns whether the user types an answer that begins with y.
    static func isYes() async throws -> Bool { try await read()?.lowercased().hasPrefix("y") == true }
}
