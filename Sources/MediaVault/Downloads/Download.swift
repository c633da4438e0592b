import VaultModel

/// A download into the vault: begins when it is iterated, goes on where an earlier one stopped, ends when everything is
/// held. Leaving the loop, or cancelling its task, stops it; bytes that came are kept.
public struct Download: AsyncSequence, Sendable {
    /// How far it is, told ten times a second at most.
    public typealias Element = DownloadProgress

    let vault: Vault
    let reference: MediaReference
    let options: DownloadOptions

    /// Begins the download. The iterator throws ``VaultError`` where it cannot go on.
    public func makeAsyncIterator() -> AsyncThrowingStream<DownloadProgress, any Error>.Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: DownloadProgress.self, bufferingPolicy: .bufferingNewest(1))
        let (vault, reference, options) = (vault, reference, options)
        let task = Task {
            do {
                try await vault.fill(reference, options) { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream.makeAsyncIterator()
    }
}
