import VaultCache
import VaultCrypto
public import VaultModel
import VaultStorage

/// The download queue of a vault. It is sealed in the vault's index, so it survives restarts.
///
/// Every owner can add and change entries; they run once the owner has called ``start()``, as a service does.
public final class DownloadQueue: Sendable {
    struct State {
        /// The entries; nil until the queue has been read from the index.
        var list: DownloadList?
        /// The number of rows that do not open.
        var damaged = 0
        var running: [DownloadID: Running] = [:]
        /// The entries that left the queue most recently, latest last. `isListed` is false if the entry's title has
        /// since been removed or queued again.
        var ended: [(snapshot: DownloadSnapshot, revision: Int, isListed: Bool)] = []
        /// The revision of the queue, which grows with each change.
        var revision = 0
        /// The last revision with an entry that left the queue and is no longer in ``ended``. Whoever knows only an
        /// earlier one must read the whole queue.
        var forgottenRevision = 0
        var settings = DownloadSettings()
        var loop: Task<Void, Never>?
        var isEnded = false
        var listeners = NumberedSet<@Sendable () -> Void>()
        var failureListeners = NumberedSet<@Sendable (FailedDownload) -> Void>()
        var forgettingListeners = NumberedSet<@Sendable (Set<TitleID>) -> Void>()
    }

    /// A download that is running or ending.
    struct Running: Sendable {
        var task: Task<Void, Never>?
        /// Whether the download was told to stop.
        var isEnding = false
        /// Whether the download was told to stop because it is too slow while others wait.
        var givesWay = false
        /// The number of bytes that were held when the download began; nil until it first reports its progress.
        var heldBefore: Int64?
        /// The download's pace. It is measured anew once the download reports what it holds.
        var pace: DownloadPace?
    }

    let loaders: LoaderTable
    /// The recently requested pictures from feeds.
    let feedPictures: FeedPictures
    let state = Locked(State())
    let rate = SharedRateLimit(bytesPerSecond: nil)
    /// A lock held while the queue is read or changed, so that the index and memory agree.
    let changing = AsyncLock()
    let wakes: AsyncStream<Void>
    let waking: AsyncStream<Void>.Continuation
    /// The task that wakes the queue when its next decision is due.
    let timer = Locked<Task<Void, Never>?>(nil)

    /// The maximum number of entries in the queue.
    public static let maxEntries = QueuedDownload.most
    /// The maximum number of entries to remember after they left the queue.
    public static let maxEnded = 64

    var store: VaultStore { loaders.environment.store }
    var pool: BlockingPool { loaders.environment.pool }

    init(_ loaders: LoaderTable, _ feedPictures: FeedPictures) {
        (self.loaders, self.feedPictures) = (loaders, feedPictures)
        (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: Reading

    /// Reads the queue from the index unless it has already been read.
    func load() async throws {
        guard state.withLock({ $0.list == nil }) else { return }
        try await changing.exclusively { try await read() }
    }

    private func read() async throws {
        guard state.withLock({ $0.list == nil }) else { return }
        let store = store
        let (found, settings, names) = try await pool.run {
            let found = try store.downloads.all()
            return (found, try store.index.settings().downloads, Self.names(of: found.downloads, in: store))
        }
        use(settings)
        state.withLock { state in
            // A closed vault has forgotten its records, and must not know them again.
            guard !state.isEnded else { return }
            state.list = DownloadList(found.downloads)
            for (id, name) in names { state.list?.note(name: name, of: id) }
            state.damaged = found.damaged
        }
    }

    /// The maximum number of entries whose titles' names are looked up when the queue is read.
    private static let mostNamed = 1000

    /// Returns the names that the vault has for the titles of entries that were given none. Blocks.
    static func names(of downloads: [QueuedDownload], in store: VaultStore) -> [DownloadID: String] {
        var names: [DownloadID: String] = [:]
        for download in downloads.filter({ $0.order.name == nil }).prefix(mostNamed) {
            names[download.id] = (try? store.index.titleIDs.resources(download.title))?.first?.metadata.name
        }
        return names
    }

    /// Runs a body that may change rows of the queue while nothing else can, then reads the rows again.
    func rereading<Result: Sendable>(after body: () async throws -> Result) async throws -> Result {
        try await changing.exclusively {
            do {
                let result = try await body()
                await readAgain()
                return result
            } catch {
                await readAgain()
                throw error
            }
        }
    }

    private func readAgain() async {
        let store = store
        // If the rows cannot be read now, the entries in memory stay as they were.
        guard let found = try? await pool.run({ try store.downloads.all() }) else { return }
        tell { state in
            guard state.list != nil, !state.isEnded else { return }
            // How entries ended that are gone from the index is not known.
            let hasDropped = state.list?.replace(with: found.downloads, revision: state.revision) ?? false
            if hasDropped { state.forgottenRevision = state.revision }
            state.damaged = found.damaged
        }
    }

    /// Returns a page of the queue in order, and the cursor for the next page; nil if there is none.
    ///
    /// - Parameters:
    ///   - place: the cursor after which the page begins; nil for the start of the queue.
    ///   - limit: the maximum number of entries, at least 1.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the limit is not positive; `storage` if the queue cannot
    ///   be read.
    public func page(
        after place: DownloadCursor? = nil, limit: Int
    ) async throws -> (downloads: [DownloadSnapshot], next: DownloadCursor?) {
        let limit = min(try PageLimit.checked(limit), Self.maxEntries)
        try await load()
        return state.withLock { state in
            let found = state.list?.entries(after: place?.place, limit: limit + 1) ?? []
            let page = found.prefix(limit)
            let next = found.count > limit ? page.last.map { DownloadCursor($0.download.place) } : nil
            return (page.map { state.snapshot($0) }, next)
        }
    }

    /// The entries that left the queue most recently, latest first. Titles that were removed or queued since are left
    /// out.
    public var ended: [DownloadSnapshot] {
        state.withLock { $0.ended.reversed().filter(\.isListed).map(\.snapshot) }
    }

    /// Returns the number of entries in each state.
    public func counts() async throws -> DownloadCounts {
        try await load()
        return state.withLock { $0.counts }
    }

    /// Returns the entries that have changed since a revision, and the current revision. The entries are nil if more
    /// than `limit` have changed, or more left the queue than are remembered.
    public func changes(
        since revision: Int, limit: Int = .max
    ) -> (downloads: [DownloadSnapshot]?, revision: Int) {
        state.withLock { ($0.changes(since: revision, limit: limit), $0.revision) }
    }

    /// Follows the queue. Nothing is recorded before the sequence is iterated.
    public var updates: DownloadUpdates { DownloadUpdates(queue: self) }

    /// Whether the vault is closed, or is about to be.
    var isEnded: Bool { state.withLock(\.isEnded) }

    /// Returns what has changed since a revision, or the whole queue if there is no revision yet; nil once the vault is
    /// closed.
    func news(since revision: Int?) -> (update: DownloadUpdate, revision: Int)? {
        state.withLock { state in
            guard !state.isEnded else { return nil }
            if let revision, let changed = state.changes(since: revision, limit: .max) {
                return (DownloadUpdate(isWhole: false, changed: changed), state.revision)
            }
            let all = state.list?.inOrder.map { state.snapshot($0) } ?? []
            return (DownloadUpdate(isWhole: true, changed: all), state.revision)
        }
    }

    /// The running entries, and the current revision.
    public var running: (downloads: [DownloadSnapshot], revision: Int) {
        state.withLock { state in
            (state.running.keys.compactMap { state.list?[$0] }.map { state.snapshot($0) }, state.revision)
        }
    }

    /// Registers a closure to call after each change. It must only forward the signal.
    ///
    /// - Returns: the id for ``stopListening(_:)``.
    public func listen(_ wake: @escaping @Sendable () -> Void) -> Int {
        state.withLock { $0.listeners.add(wake) }
    }

    /// Removes a closure that ``listen(_:)`` registered.
    public func stopListening(_ listener: Int) { state.withLock { $0.listeners.remove(listener) } }

    /// Discards the entries in memory, because the vault is closed.
    func forget() { state.withLock { ($0.list, $0.ended, $0.running) = (DownloadList(), [], [:]) } }

    // MARK: State

    /// Changes the state, advances its revision, and notifies the listeners.
    func tell(_ body: (inout State) -> Void) {
        let wakes = state.withLock { state in
            state.revision += 1
            body(&state)
            return state.listeners.all
        }
        for wake in wakes { wake() }
    }

    /// Applies settings that have already been written.
    func use(_ settings: DownloadSettings) {
        let former = state.withLock { state in
            defer { state.settings = settings }
            return state.settings
        }
        if former.bytesPerSecond != settings.bytesPerSecond { rate.use(bytesPerSecond: settings.bytesPerSecond) }
        wake()
    }

    /// Lets downloads retry at once if they wait because nothing could be requested. It is called after the mode or the
    /// network has changed.
    func retryRequests() {
        tell { state in
            let waiting = state.list?.inOrder.map(\.download) ?? []
            for var download in waiting where download.notBefore != nil && download.state == .waiting {
                let code = download.failure.flatMap { VaultError.Code(name: $0.code) }
                guard code == .notHeld || code == .unreachable || code == .storage else { continue }
                download.notBefore = nil
                state.list?.put(download, revision: state.revision)
            }
        }
        wake()
    }

    /// Makes the queue decide again which downloads run.
    func wake() { waking.yield() }

    // MARK: For subscriptions

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

/// The place after which a page of the download queue begins.
public struct DownloadCursor: Hashable, Sendable, CustomStringConvertible {
    let place: DownloadList.Place

    init(_ place: DownloadList.Place) { self.place = place }

    /// Parses the text form of a cursor; nil if the text is not one.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let position = Int64(parts[0]), QueuedDownload.positions.contains(position),
            let id = DownloadID(hex: parts[1])
        else { return nil }
        place = DownloadList.Place(position: position, id: id)
    }

    /// The text form of the cursor, which stays the same while the entry keeps its place.
    public var description: String { "\(place.position).\(place.id.hex)" }
}

extension DownloadQueue.State {
    func snapshot(_ entry: DownloadList.Entry) -> DownloadSnapshot {
        let isRunning = running[entry.download.id].map { !$0.isEnding } ?? false
        return DownloadSnapshot(entry, isRunning && entry.download.state == .waiting ? .running : nil)
    }

    /// Returns the entries that have changed since a revision; nil if more than `limit` have changed, or more left the
    /// queue than are remembered.
    func changes(since revision: Int, limit: Int) -> [DownloadSnapshot]? {
        guard revision < self.revision else { return [] }
        guard revision >= forgottenRevision else { return nil }
        let changed = (list?.inOrder).map { $0.filter { $0.revision > revision } } ?? []
        let ended = ended.filter { $0.revision > revision }.map(\.snapshot)
        guard changed.count + ended.count <= limit else { return nil }
        return changed.map { snapshot($0) } + ended
    }

    var counts: DownloadCounts {
        var counts = DownloadCounts()
        counts.damaged = damaged
        for entry in list?.inOrder.map({ $0 }) ?? [] {
            switch snapshot(entry).state {
            case .running: counts.running += 1
            case .paused: counts.paused += 1
            case .failed: counts.failed += 1
            default: counts.waiting += 1
            }
        }
        return counts
    }

    /// Decides which downloads run, start and stop.
    mutating func plan(at now: DownloadSchedule.Moment) -> DownloadSchedule.Plan {
        guard let list else { return DownloadSchedule.Plan() }
        for id in running.keys {
            running[id]?.pace?.measure(
                held: list[id]?.progress?.held ?? 0, leastRate: settings.leastRateOfEach, at: now.time)
        }
        return DownloadSchedule(settings: settings).plan(
            list.inOrder.lazy.map(\.candidate), hosts: list.hostCount, running: Set(running.keys),
            ending: Set(running.filter(\.value.isEnding).keys),
            slow: Set(running.filter { $0.value.pace?.isSlow ?? false }.keys), at: now)
    }

    /// Stops listing the ended downloads of these titles.
    mutating func forgetEnded(of titles: Set<TitleID>) {
        for index in ended.indices where titles.contains(ended[index].snapshot.title) { ended[index].isListed = false }
    }

    /// Removes an entry from the queue, and remembers how it ended.
    mutating func end(_ id: DownloadID, as end: DownloadSnapshot.State) {
        guard let entry = list?.remove(id) else { return }
        ended.append((DownloadSnapshot(entry, end), revision, true))
        while ended.count > DownloadQueue.maxEnded {
            forgottenRevision = max(forgottenRevision, ended.removeFirst().revision)
        }
    }
}

/// A failure of a queued download.
public struct FailedDownload: Sendable {
    /// The entry as it is after the failure.
    public let snapshot: DownloadSnapshot
    /// The id of the entry's resource; nil if it could not be computed.
    public let resource: ResourceID?
    /// Why the download failed.
    public let error: VaultError
}
