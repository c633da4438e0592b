import MediaVault
import VaultModel

/// What a feed of events has to tell: put together until it is told, so that a slow client costs no memory.
final class FeedNews: Sendable {
    /// Something to tell.
    struct Batch: Sendable {
        var store: [StoreEvent] = []
        var downloads: [DownloadDocument] = []
        var resources: ResourceChanges.News?
        /// Whether it is time to say that there is nothing.
        var isBeatDue = false
    }

    private struct State {
        var store: [StoreEvent] = []
        var isBeatDue = false
        /// The downloads that ran when the feed began, until they are told.
        var running: [DownloadDocument] = []
        /// Up to here the changes of downloads are told. What ended before the feed began is no news.
        var revision: Int
    }

    private let vault: Vault
    private let downloads: DownloadBoard
    private let state: Locked<State>
    private let wakes: AsyncStream<Void>
    private let waking: AsyncStream<Void>.Continuation
    private let changes: ResourceChanges
    private let listener: Int
    private let helpers: Locked<[Task<Void, any Error>]>

    private static let heartbeat: Duration = .seconds(15)
    private static let mostStoreEvents = 16

    /// Begins to listen.
    init(_ vault: Vault, _ downloads: DownloadBoard) {
        self.vault = vault
        self.downloads = downloads
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.wakes, self.waking) = (wakes, waking)
        changes = vault.changes { waking.yield() }
        listener = downloads.listen { waking.yield() }
        let known = downloads.changes(since: 0)
        state = Locked(State(running: known.downloads.filter { $0.state == .running }, revision: known.revision))
        helpers = Locked([])
        let events = vault.storeEvents()
        let telling: Task<Void, any Error> = Task { [weak self] in
            for await event in events { self?.note { $0.store = ($0.store + [event]).suffix(Self.mostStoreEvents) } }
        }
        let beating = Task { [weak self] in
            while true {
                try await Task.sleep(for: Self.heartbeat)
                self?.note { $0.isBeatDue = true }
            }
        }
        helpers.withLock { $0 = [telling, beating] }
        // The downloads that run now are the first news.
        waking.yield()
    }

    deinit {
        downloads.stopListening(listener)
        for helper in helpers.withLock(\.self) { helper.cancel() }
    }

    /// Tells nothing any more.
    func finish() { waking.finish() }

    /// Waits for something to tell; nil at the end.
    func next() async -> Batch? {
        for await _ in wakes { return take() }
        return nil
    }

    private func note(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        waking.yield()
    }

    private func take() -> Batch {
        state.withLock { state in
            let (changed, revision) = downloads.changes(since: state.revision)
            let told = state.running.filter { was in !changed.contains { $0.id == was.id } } + changed
            defer { state = State(revision: revision) }
            return Batch(store: state.store, downloads: told.sorted { $0.id < $1.id }, resources: changes.take(), isBeatDue: state.isBeatDue)
        }
    }
}
