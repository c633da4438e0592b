import VaultModel

/// What has changed in the download queue.
public struct DownloadUpdate: Sendable {
    /// Whether ``changed`` has the whole queue, in order. A follower then forgets all other entries that it knows.
    public let isWhole: Bool
    /// The entries that have changed, and those that left the queue: the state of these is
    /// ``DownloadSnapshot/State/done`` or ``DownloadSnapshot/State/ended``.
    public let changed: [DownloadSnapshot]
}

/// The download queue as this process changes it. The sequence ends when the vault is closed.
///
/// The first element has the whole queue. So has each element before which more entries left the queue than the vault
/// remembers, ``DownloadQueue/maxEnded``. A loop that is slower than the queue gets the latest state of each entry.
public struct DownloadUpdates: AsyncSequence, Sendable {
    /// What has changed since the element before.
    public typealias Element = DownloadUpdate

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

        /// Returns what has changed, or nil once the vault is closed.
        ///
        /// - Throws: ``VaultError`` if the queue cannot be read; `CancellationError` if the task was cancelled.
        public mutating func next() async throws -> DownloadUpdate? {
            while true {
                try Task.checkCancellation()
                guard !queue.isEnded else { return nil }
                try await queue.load()
                guard let news = queue.news(since: revision) else { return nil }
                revision = news.revision
                if news.update.isWhole || !news.update.changed.isEmpty { return news.update }
                guard await wakes.next(isolation: #isolation) != nil else {
                    try Task.checkCancellation()
                    return nil
                }
            }
        }
    }
}
