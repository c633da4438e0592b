import Synchronization
import VaultModel

/// Lets one act at a time work on the keys of a vault.
final class KeyWork: Sendable {
    private let running = Mutex<String?>(nil)

    /// The act that works now, by the name of its command; nil where none does.
    var act: String? { running.withLock { $0 } }

    /// Runs an act, unless another one works.
    ///
    /// - Parameter act: what others are told that runs: the name of its command, `rewrap`.
    /// - Throws: ``VaultError`` with code `busy` where another act works; what `body` throws.
    func exclusively<Result>(_ act: String, _ body: () async throws -> Result) async throws -> Result {
        let other = running.withLock { running in
            defer { running = running ?? act }
            return running
        }
        if let other {
            throw VaultError(.busy, "keys \(other) works on the keys of this vault; wait until it is done")
        }
        defer { running.withLock { $0 = nil } }
        return try await body()
    }
}
