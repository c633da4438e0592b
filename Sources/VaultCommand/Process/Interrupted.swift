/// The end of a run by a signal that was asked of it.
struct Interrupted: Error, Hashable, Sendable {
    let signal: Int32
    /// What became of the work.
    var outcome = "what was received is kept"

    /// What is said of it.
    var message: String { "interrupted; \(outcome)" }
}
