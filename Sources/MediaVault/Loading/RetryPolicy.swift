import VaultModel

/// When a reader that has begun asks again after a fetch failed; one that has not is told at once.
enum RetryPolicy {
    /// How long to wait before the next try; nil where trying again does not help, or was tried long enough.
    ///
    /// - Parameters:
    ///   - failure: what the last try ended with.
    ///   - tries: failures in a row without a byte between them, this one included.
    static func delay(after failure: FetchFailure, tries: Int) -> Duration? {
        guard case .origin(let failure) = failure else { return nil }
        switch failure.kind {
        case .lied, .refused: return nil
        case .unreachable, .interrupted:
            // An answer that breaks off after it gave bytes is taken up at once.
            guard tries <= mostTries else { return nil }
            return tries <= 1 ? .zero : .milliseconds(250 << (tries - 2))
        }
    }

    private static let mostTries = 5
}
