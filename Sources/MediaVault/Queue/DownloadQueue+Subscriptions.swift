import VaultModel
import VaultStorage

// What subscriptions ask of the download queue.
extension DownloadQueue {
    /// Returns the titles that are in the queue and did not fail for good; a paused one stays paused.
    func waitingTitles() async throws -> Set<TitleID> {
        try await load()
        return state.withLock { state in
            Set((state.list?.inOrder.map(\.download) ?? []).filter { $0.state != .failed }.map(\.title))
        }
    }

    /// Returns whether the queue runs at this time of the day.
    func isWithinHours() async -> Bool {
        guard (try? await load()) != nil else { return false }
        let hours = state.withLock { $0.settings.hours }
        return hours?.contains(secondOfDay: Self.moment(store.now()).secondOfDay) ?? true
    }
}
