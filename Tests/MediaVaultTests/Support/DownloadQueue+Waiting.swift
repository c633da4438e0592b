@testable import MediaVault

extension DownloadQueue {
    /// Waits until the queue meets a condition.
    func wait(until isThere: (DownloadQueue) async throws -> Bool) async throws {
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listener = listen { waking.yield() }
        defer { stopListening(listener) }
        waking.yield()
        for await _ in wakes where try await isThere(self) { return }
    }
}
