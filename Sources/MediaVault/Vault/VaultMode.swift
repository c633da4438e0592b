/// Whether a vault asks origins for what it does not hold.
public enum VaultMode: String, Sendable {
    /// What is missing is fetched.
    case online
    /// Nothing is fetched: held ranges play, a hole is a clear error at its byte.
    case offline
}
