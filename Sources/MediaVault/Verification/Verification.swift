import VaultModel
import VaultStorage

/// A check of a whole vault: begins when it is iterated, and goes on beside everything else that the vault does. The
/// last element carries the report.
///
/// Leaving the loop, or cancelling its task, ends it; what was repaired stays so.
public struct Verification: AsyncSequence, Sendable {
    /// How far it is, told ten times a second at most.
    public typealias Element = VerifyProgress

    let vault: Vault
    let options: VerifyOptions

    /// Begins the check.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: VerifyProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (vault, options) = (vault, options)
        let task = vault.chores.begin {
            do {
                try options.check(isOwner: vault.store.isOwner)
                var verifier = Verifier(vault: vault, options: options) { continuation.yield($0) }
                try await verifier.run()
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return Iterator(steps: stream.makeAsyncIterator(), task: task)
    }

    /// Tells how far it is.
    public struct Iterator: AsyncIteratorProtocol {
        var steps: AsyncThrowingStream<VerifyProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// How far it is now; nil after the report.
        ///
        /// - Throws: ``VaultError`` where the index cannot be read; `CancellationError` where the task was cancelled.
        public mutating func next() async throws -> VerifyProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // Cancelled, the stream ends before the work does; nothing is touched any more when this returns.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}

extension Vault {
    /// Opens every block of every segment that the index names, and looks for files that it does not name.
    ///
    /// It needs no ownership, unless it repairs: then what is damaged is condemned and its ranges alone are fetched
    /// anew, of the same representation; orphans are adopted or moved to `quarantine/`. Playing goes on meanwhile.
    public func verify(_ options: VerifyOptions = VerifyOptions()) -> Verification {
        Verification(vault: self, options: options)
    }
}
