package import VaultModel

/// Counts failed requests to origins since the vault was opened, by kind.
package final class OriginErrors: Sendable {
    /// The kind of failure, as in ``OriginFailure/Kind-swift.enum``.
    package enum Kind: String, CaseIterable, Sendable {
        case unreachable, interrupted, invalidResponse, refused

        init(_ kind: OriginFailure.Kind) {
            self =
                switch kind {
                case .unreachable: .unreachable
                case .interrupted: .interrupted
                case .invalidResponse: .invalidResponse
                case .refused: .refused
                }
        }
    }

    private let counts = Locked<[Kind: Int64]>([:])

    package func count(_ failure: OriginFailure) { counts.withLock { $0[Kind(failure.kind), default: 0] += 1 } }

    /// The number of failures of each kind that has occurred.
    package var all: [Kind: Int64] { counts.withLock(\.self) }
}
