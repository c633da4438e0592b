/// The end of a run by a signal that was asked of it.
struct Interrupted: Error, Hashable, Sendable {
    let signal: Int32

    /// What is said of it.
    var message: String { "interrupted; what was received is kept" }
}
