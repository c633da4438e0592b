import VaultModel
import VaultStorage

/// New keys for resources, and all their segments sealed anew: begins when it is iterated, and goes on beside everything
/// else that the vault does. The last element carries the report.
///
/// Leaving the loop, or cancelling its task, breaks it off; what was sealed anew stays so. The vault remembers what is
/// left, and goes on with it when it is opened again, or asked again.
public struct Reseal: AsyncSequence, Sendable {
    /// How far it is, told ten times a second at most.
    public typealias Element = ResealProgress

    let vault: Vault
    let references: [MediaReference]
    let bytesPerSecond: Int64?

    /// Begins it.
    public func makeAsyncIterator() -> Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: ResealProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (vault, references, rate) = (vault, references, bytesPerSecond)
        let task = vault.chores.begin {
            do {
                try await vault.reseal(references, bytesPerSecond: rate) { continuation.yield($0) }
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
        var steps: AsyncThrowingStream<ResealProgress, any Error>.Iterator
        let task: Task<Void, Never>

        /// How far it is now; nil after the report.
        ///
        /// - Throws: ``VaultError``: `owned` where this is not the owner, `busy` where another act works on the keys,
        ///   `notHeld` where the vault knows nothing of a resource, `diskFull`, `storage`; `CancellationError` where
        ///   the task was cancelled.
        public mutating func next() async throws -> ResealProgress? {
            if let step = try await steps.next(isolation: #isolation) { return step }
            // Cancelled, the stream ends before the work does; nothing is touched any more when this returns.
            await task.value
            try Task.checkCancellation()
            return nil
        }
    }
}
