import VaultModel
import VaultStorage

/// Every resource key is wrapped anew under the current generation: begins when it is iterated, and goes on beside
/// everything else that the vault does. No media is read or written. The last element carries the report.
///
/// Leaving the loop, or cancelling its task, ends it; what is done stays done, and the next goes on with the rest.
public struct Rewrapping: AsyncSequence, Sendable {
    /// How far it is.
    public typealias Element = RewrapProgress

    let vault: Vault

    /// Begins it.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: RewrapProgress.self, bufferingPolicy: .bufferingNewest(1))
        let vault = vault
        let task = vault.chores.begin {
            do {
                try await vault.rewrap { continuation.yield($0) }
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
        var steps: AsyncThrowingStream<RewrapProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// How far it is now; nil after the report.
        ///
        /// - Throws: ``VaultError`` with code `busy` where another act works on the keys, `owned` where this is not the
        ///   owner, `storage` where the index refuses; `CancellationError` where the task was cancelled.
        public mutating func next() async throws -> RewrapProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // Cancelled, the stream ends before the work does; nothing is touched any more when this returns.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}
