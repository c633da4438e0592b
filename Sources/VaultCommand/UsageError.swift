/// Something in the command line or the environment that cannot be used.
struct UsageError: Error, Hashable, Sendable {
    /// One sentence without a full stop that names what to change.
    let message: String

    init(_ message: String) { self.message = message }
}
