import VaultModel

/// The download queue as it changes. The sequence ends when the vault is closed.
///
/// The first element has all entries of the queue, in order. Each further element has the entries that have changed
/// since the one before, and those that left the queue: their state is ``DownloadSnapshot/State/done`` or
/// ``DownloadSnapshot/State/ended``. A loop that is slower than the queue gets the latest state of each entry, and at
/// most ``DownloadQueue/maxEnded`` entries that have left.
public struct DownloadUpdates: AsyncSequence, Sendable {
    /// The entries that have changed.
    public typealias Element = [DownloadSnapshot]

    let queue: DownloadQueue

    /// Begins to follow the queue.
    public func makeAsyncIterator() -> Iterator {
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listener = queue.listen { wake.yield() }
        wake.onTermination = { [weak queue] _ in queue?.stopListening(listener) }
        return Iterator(queue: queue, wakes: wakes.makeAsyncIterator())
    }

    /// Delivers the changes.
    public struct Iterator: AsyncIteratorProtocol {
        let queue: DownloadQueue
        var wakes: AsyncStream<Void>.Iterator
        /// The revision of the queue that the last element showed; nil before the first element.
        var revision: Int?

        /// Returns the entries that have changed, or nil once the vault is closed.
        ///
        /// - Throws: ``VaultError`` if the queue cannot be read; `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> [DownloadSnapshot]? {
            try await queue.load()
            while true {
                try Task.checkCancellation()
                guard let news = queue.news(since: revision) else { return nil }
                let isFirst = revision == nil
                revision = news.revision
                if isFirst || !news.downloads.isEmpty { return news.downloads }
                guard await wakes.next(isolation: #isolation) != nil else {
                    try Task.checkCancellation()
                    return nil
                }
            }
        }
    }
}
