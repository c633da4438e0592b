/// One answer: where its bytes came from, and when it ended.
package struct AnswerTrace: Hashable, Sendable {
    /// Seconds since 1970; nil while it goes on.
    package let ended: Int64?
    package let trace: ByteTrace
}
