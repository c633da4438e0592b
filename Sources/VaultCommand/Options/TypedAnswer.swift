/// The line that a user types in answer to a question.
enum TypedAnswer {
    /// The queue on which questions wait: an abandoned question blocks it until the process ends.
    private static let questions = BlockingQueue("mediavault.question")

    /// Returns the line without its end; nil at the end of input. Throws at once if cancelled.
    static func read() async throws -> String? { try await questions.run { readLine() } }

    /// Returns whether the user types an answer that begins with y.
    static func isYes() async throws -> Bool { try await read()?.lowercased().hasPrefix("y") == true }
}
