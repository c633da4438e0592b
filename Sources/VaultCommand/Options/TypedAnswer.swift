/// The line that a user types as the answer to a question.
enum TypedAnswer {
    /// Where questions wait for answers: an abandoned one blocks its queue until the process ends.
    private static let questions = BlockingQueue("mediavault.question")

    /// Returns the line without its end; nil at the end of input. If cancelled, throws at once.
    static func read() async throws -> String? { try await questions.run { readLine() } }

    /// Returns whether the user types an answer that begins with y.
    static func isYes() async throws -> Bool { try await read()?.lowercased().hasPrefix("y") == true }
}
