import VaultModel

/// What a fetch ended with, as its readers see it.
enum FetchFailure: Error, Sendable {
    /// The origin gave no answer, or no whole one: trying again may help.
    case origin(OriginFailure)
    /// Something that trying again does not mend.
    case final(VaultError)

    /// Whether an answer that had begun broke off.
    var isInterruption: Bool {
        if case .origin(let failure) = self { failure.kind == .interrupted } else { false }
    }

    /// Whether the connection failed, or an answer that had begun broke off: no word of the origin's.
    var isOfConnection: Bool {
        guard case .origin(let failure) = self else { return false }
        return failure.kind == .unreachable || failure.kind == .interrupted
    }

    /// The failure as the library's callers see it.
    func vaultError(for url: MediaURL, at position: Int64) -> VaultError {
        switch self {
        case .final(let error): return error
        case .origin(let failure):
            var error: VaultError
            switch failure.kind {
            case .unreachable:
                error = VaultError(
                    .unreachable, "\(url.authority) cannot be reached: \(failure.reason); try again later")
            case .interrupted:
                error = VaultError(
                    .unreachable,
                    "\(url.authority) broke off its answer: \(failure.reason); try again, it goes on where it stopped")
            case .lied:
                error = VaultError(.lied, "\(url.authority) gave an answer that cannot be used: \(failure.reason)")
            case .refused(let status, let retryAfter):
                error = VaultError(.refused, "\(url.authority) refused \(url.path): \(failure.reason)")
                error.originStatus = status
                error.retryAfter = retryAfter
            }
            error.firstMissing = position
            return error
        }
    }
}
