import VaultModel
import VaultStorage

// Answers the questions that subscriptions ask of the download queue.
extension DownloadQueue {
    /// Returns the queued titles, each with its download URL and its state.
    func queuedTitles() async throws -> [TitleID: (url: String, state: QueuedDownload.State)] {
        try await load()
        return state.withLock { state in
            let entries = (state.list?.inOrder.map(\.download) ?? []).map { ($0.title, ($0.order.url, $0.state)) }
            return Dictionary(entries, uniquingKeysWith: { first, _ in first })
        }
    }

    /// Returns whether the settings let the queue run at the current time of day.
    func isWithinHours() async -> Bool {
        guard (try? await load()) != nil else { return false }
        let hours = state.withLock { $0.settings.hours }
        return hours?.contains(secondOfDay: Self.moment(store.index.now()).secondOfDay) ?? true
    }
}
