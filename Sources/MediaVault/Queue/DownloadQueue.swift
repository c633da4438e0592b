import VaultCrypto
package import VaultModel
import VaultStorage

/// The download queue of a vault: sealed in its index, so that it survives restarts.
///
/// Entries can be added and changed by every owner; they run while a service has the queue started.
package final class DownloadQueue: Sendable {
    struct State {
        /// Nil until the queue is read from the index.
        var list: DownloadList?
        /// Rows that no key opens.
        var damaged: [DownloadID] = []
        var running: [DownloadID: Running] = [:]
        /// What left the queue most recently, the latest last.
        var ended: [(snapshot: DownloadSnapshot, revision: Int)] = []
        /// The number of the last change.
        var revision = 0
        var settings = DownloadSettings()
        var loop: Task<Void, Never>?
        var isEnded = false
        var listeners = NumberedSet<@Sendable () -> Void>()
        var failureListeners = NumberedSet<@Sendable (FailedDownload) -> Void>()
    }

    /// A download that runs, or is ending.
    struct Running: Sendable {
        var task: Task<Void, Never>?
        /// Whether it was told to stop.
        var isEnding = false
        /// The bytes that were held when it began; nil until it reports them.
        var heldBefore: Int64?
    }

    let loaders: LoaderTable
    let state = Locked(State())
    let rate = SharedRateLimit(bytesPerSecond: nil)
    /// Held while the queue is read or changed, so that the index and memory agree.
    let changing = AsyncLock()
    let wakes: AsyncStream<Void>
    let waking: AsyncStream<Void>.Continuation
    /// Wakes the queue at a time.
    let timer = Locked<Task<Void, Never>?>(nil)

    /// How many entries that left the queue are remembered.
    package static let maxEnded = 64
    /// How many rows are written in one transaction.
    private static let batch = 1000

    var store: VaultStore { loaders.environment.store }
    private var pool: BlockingPool { loaders.environment.pool }

    init(_ loaders: LoaderTable) {
        self.loaders = loaders
        (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: Reading

    /// Reads the queue from the index, unless that is done.
    func load() async throws {
        guard state.withLock({ $0.list == nil }) else { return }
        try await changing.exclusively { try await read() }
    }

    private func read() async throws {
        guard state.withLock({ $0.list == nil }) else { return }
        let store = store
        let (found, settings) = try await pool.run {
            (try store.index.queuedDownloads(), try store.index.settings().downloads)
        }
        use(settings)
        state.withLock { state in
            state.list = DownloadList(found.downloads)
            state.damaged = found.damaged
        }
    }

    /// Returns a page of the queue in its order, and where the next one begins.
    ///
    /// - Parameter after: the place behind which it begins; nil for the start.
    package func page(
        after place: DownloadCursor? = nil, limit: Int
    ) async throws -> (downloads: [DownloadSnapshot], next: DownloadCursor?) {
        try await load()
        return state.withLock { state in
            let found = state.list?.entries(after: place?.place, limit: limit + 1) ?? []
            let page = found.prefix(limit)
            let next = found.count > limit ? page.last.map { DownloadCursor($0.download.place) } : nil
            return (page.map { state.snapshot($0) }, next)
        }
    }

    /// The entries that left the queue most recently, the latest first.
    package var ended: [DownloadSnapshot] { state.withLock { $0.ended.reversed().map(\.snapshot) } }

    /// Returns how many entries do what.
    package func counts() async throws -> DownloadCounts {
        try await load()
        return state.withLock { $0.counts }
    }

    /// Returns the entries that have changed since a revision, and the current revision; nil if more than `limit` have.
    package func changes(
        since revision: Int, limit: Int = .max
    ) -> (downloads: [DownloadSnapshot]?, revision: Int) {
        state.withLock { state in
            guard revision < state.revision else { return ([], state.revision) }
            let changed = (state.list?.inOrder).map { $0.filter { $0.revision > revision } } ?? []
            let ended = state.ended.filter { $0.revision > revision }.map(\.snapshot)
            guard changed.count + ended.count <= limit else { return (nil, state.revision) }
            return (changed.map { state.snapshot($0) } + ended, state.revision)
        }
    }

    /// The entries that run, and the current revision.
    package var running: (downloads: [DownloadSnapshot], revision: Int) {
        state.withLock { state in
            (state.running.keys.compactMap { state.list?[$0] }.map { state.snapshot($0) }, state.revision)
        }
    }

    /// Registers a closure that is called after each change; it must only forward the signal.
    ///
    /// - Returns: the id for ``stopListening(_:)``.
    package func listen(_ wake: @escaping @Sendable () -> Void) -> Int {
        state.withLock { $0.listeners.add(wake) }
    }

    package func stopListening(_ listener: Int) { state.withLock { $0.listeners.remove(listener) } }

    // MARK: Changing

    /// Adds downloads to the queue, behind all others or before them.
    ///
    /// One that is in the queue already keeps its place, gets the new options unless it runs, and waits again.
    ///
    /// - Returns: the entries, one for each download.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `busy` if the queue has
    ///   ``QueuedDownload/most`` entries; `invalidArgument` if a reference cannot be used: then nothing is added.
    @discardableResult
    package func add(
        _ downloads: [(reference: MediaReference, options: DownloadOptions)], first: Bool = false
    ) async throws -> [DownloadSnapshot] {
        try store.requireOwner(to: "queues downloads")
        try await load()
        var named: [NamedOrder] = []
        for download in downloads { named.append(try await name(download.reference, download.options)) }
        return try await changing.exclusively { [named] in
            let entries = try await entries(for: named, first: first)
            try await write(entries.filter(\.isChanged).map(\.download))
            wake()
            return state.withLock { state in
                entries.compactMap { state.list?[$0.download.id] }.map { state.snapshot($0) }
            }
        }
    }

    /// An order, and what its title is in this vault.
    private struct NamedOrder: Sendable {
        let order: DownloadOrder
        let resource: ResourceID
        let title: TitleID
    }

    private func name(_ given: MediaReference, _ options: DownloadOptions) async throws -> NamedOrder {
        let reference = try loaders.settled(given)
        let resource = try await loaders.name(given)
        let (store, id) = (store, resource.id)
        let stored = try await pool.run { try store.index.resource(id)?.titleID }
        // Bytes for one user are asked for as they are stored: the record of the title has the fields.
        let isByID = given.titleID != nil || (reference.principal != nil && stored != nil)
        return NamedOrder(
            order: DownloadOrder(reference, options, isByID: isByID), resource: id,
            title: given.titleID ?? stored ?? TitleID(of: id))
    }

    /// Returns the entries for some orders: those that the queue has, and new ones.
    private func entries(
        for orders: [NamedOrder], first: Bool
    ) async throws -> [(download: QueuedDownload, isChanged: Bool)] {
        let (count, before, behind) = state.withLock { state in
            (state.list?.count ?? 0, state.list?.firstPosition ?? 0, state.list?.lastPosition ?? 0)
        }
        var entries: [(download: QueuedDownload, isChanged: Bool)] = []
        var known: [ResourceID: Int] = [:]
        var added = 0
        for (number, order) in orders.enumerated() {
            let position = first ? before - Int64(orders.count - 1 - number) : behind + Int64(number)
            if let index = known[order.resource] {
                entries.append((entries[index].download, false))
                continue
            }
            known[order.resource] = entries.count
            if let queued = try await queued(order) {
                let isRunning = state.withLock { $0.running[queued.id] != nil }
                var changed = queued
                if !isRunning {
                    changed.order = order.order
                    (changed.state, changed.attempts, changed.notBefore, changed.failure) = (.waiting, 0, nil, nil)
                }
                if first { changed.position = position }
                entries.append((changed, !isRunning || first))
            } else {
                added += 1
                let download = QueuedDownload(
                    try SecureRandom.identifier("download id"), order.order, title: order.title, added: store.now(),
                    position: position)
                entries.append((download, true))
            }
        }
        guard added == 0 || count + added <= QueuedDownload.most else {
            throw VaultError(
                .busy,
                "the queue has room for \(QueuedDownload.most) downloads, and \(count) are in it; wait until some are "
                    + "done, or cancel some")
        }
        return entries
    }

    /// Returns the entry that the queue has for the resource of an order.
    private func queued(_ order: NamedOrder) async throws -> QueuedDownload? {
        for entry in state.withLock({ $0.list?.entries(of: order.title) ?? [] }) {
            let reference = try? await reference(of: entry.download)
            if let reference, try await loaders.name(reference).id == order.resource { return entry.download }
        }
        return nil
    }

    /// Returns the reference that an entry fetches.
    func reference(of download: QueuedDownload) async throws -> MediaReference {
        let names = loaders.environment.names
        return try await pool.run { try download.order.reference(to: download.title, in: names) }
    }

    /// Does something with entries of the queue.
    ///
    /// - Returns: how many were changed.
    /// - Throws: ``VaultError`` with code `notHeld` if a title is not in the queue: then nothing is changed.
    package func change(_ act: DownloadAct, of selection: DownloadSelection) async throws -> Int {
        try store.requireOwner(to: "changes its download queue")
        try await load()
        return try await changing.exclusively {
            let (chosen, damaged) = try chosen(selection)
            let count: Int
            if act == .cancel {
                count = chosen.count + damaged.count
                try await remove(chosen.map(\.id), damaged: damaged)
            } else {
                let changed = moved(chosen, by: act)
                count = changed.count
                try await write(changed)
                if act == .pause { stop(changed.map(\.id)) }
            }
            wake()
            return count
        }
    }

    private func chosen(_ selection: DownloadSelection) throws -> ([QueuedDownload], damaged: [DownloadID]) {
        try state.withLock { state in
            guard let list = state.list else { return ([], []) }
            guard case .titles(let titles) = selection else { return (list.inOrder.map(\.download), state.damaged) }
            let found = try titles.flatMap { title in
                let entries = list.entries(of: title)
                guard !entries.isEmpty else {
                    throw VaultError(.notHeld, "no download of \(title) is in the queue; list the downloads")
                }
                return entries.map(\.download)
            }
            var seen: Set<DownloadID> = []
            return (found.filter { seen.insert($0.id).inserted }, [])
        }
    }

    /// Returns those entries that an act changes, changed. Their order among themselves stays.
    private func moved(_ downloads: [QueuedDownload], by act: DownloadAct) -> [QueuedDownload] {
        let (first, last) = state.withLock { ($0.list?.firstPosition ?? 0, $0.list?.lastPosition ?? 0) }
        let sorted = downloads.sorted { $0.place < $1.place }
        let start = act == .first ? first - Int64(sorted.count - 1) : last
        return sorted.enumerated().compactMap { act.applied(to: $1, position: start + Int64($0)) }
    }

    /// Removes the entries of a title, if there are any: the title itself was removed.
    package func forget(_ title: TitleID) async throws {
        try await load()
        guard state.withLock({ $0.list?.entries(of: title).isEmpty == false }) else { return }
        _ = try await change(.cancel, of: .titles([title]))
    }

    // MARK: Writing

    /// Writes entries durably, then changes them in memory. The caller holds ``changing``.
    private func write(_ downloads: [QueuedDownload]) async throws {
        let store = store
        for start in stride(from: 0, to: downloads.count, by: Self.batch) {
            let batch = Array(downloads[start..<min(start + Self.batch, downloads.count)])
            try await pool.run { try store.write(batch, isDurable: true) }
            tell { state in
                for download in batch { state.list?.put(download, revision: state.revision) }
            }
        }
    }

    /// Removes entries, and stops those that run. The caller holds ``changing``.
    private func remove(_ ids: [DownloadID], damaged: [DownloadID]) async throws {
        let (store, all) = (store, ids + damaged)
        for start in stride(from: 0, to: all.count, by: Self.batch) {
            let batch = Array(all[start..<min(start + Self.batch, all.count)])
            try await pool.run { try store.removeDownloads(batch, isForgotten: true) }
            let gone = Set(batch)
            tell { state in
                for id in batch { state.end(id, as: .ended) }
                if !damaged.isEmpty { state.damaged.removeAll { gone.contains($0) } }
            }
            stop(batch)
        }
    }

    /// Changes the state, and notifies the listeners.
    func tell(_ body: (inout State) -> Void) {
        let wakes = state.withLock { state in
            state.revision += 1
            body(&state)
            return state.listeners.all
        }
        for wake in wakes { wake() }
    }

    /// Switches to settings that have been written.
    func use(_ settings: DownloadSettings) {
        let former = state.withLock { state in
            defer { state.settings = settings }
            return state.settings
        }
        if former.bytesPerSecond != settings.bytesPerSecond { rate.use(bytesPerSecond: settings.bytesPerSecond) }
        wake()
    }

    /// Lets those run again that wait because nothing could be requested: the mode or the network has changed.
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

    /// Lets the queue decide again what runs.
    func wake() { waking.yield() }
}

/// Where a page of the download queue begins.
package struct DownloadCursor: Hashable, Sendable, CustomStringConvertible {
    let place: DownloadList.Place

    init(_ place: DownloadList.Place) { self.place = place }

    /// Parses the text of a cursor; nil if it is none.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let position = Int64(parts[0]), QueuedDownload.positions.contains(position),
            let id = DownloadID(hex: parts[1])
        else { return nil }
        place = DownloadList.Place(position: position, id: id)
    }

    /// The text, which is the same as long as the entry stays where it is.
    package var description: String { "\(place.position).\(place.id.hex)" }
}

extension DownloadQueue.State {
    func snapshot(_ entry: DownloadList.Entry) -> DownloadSnapshot {
        let isRunning = running[entry.download.id].map { !$0.isEnding } ?? false
        return DownloadSnapshot(entry, isRunning && entry.download.state == .waiting ? .running : nil)
    }

    var counts: DownloadCounts {
        var counts = DownloadCounts()
        counts.damaged = damaged.count
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

    /// Decides what runs.
    func plan(at now: DownloadSchedule.Moment) -> DownloadSchedule.Plan {
        guard let list else { return DownloadSchedule.Plan() }
        return DownloadSchedule(settings: settings).plan(
            list.inOrder.lazy.map(\.candidate), running: Set(running.keys),
            ending: Set(running.filter(\.value.isEnding).keys), at: now)
    }

    /// Removes an entry, and remembers how it ended.
    mutating func end(_ id: DownloadID, as end: DownloadSnapshot.State) {
        guard let entry = list?.remove(id) else { return }
        ended.append((DownloadSnapshot(entry, end), revision))
        if ended.count > DownloadQueue.maxEnded { ended.removeFirst(ended.count - DownloadQueue.maxEnded) }
    }
}

/// A download of the queue that failed.
package struct FailedDownload: Sendable {
    /// The entry, after it failed.
    package let snapshot: DownloadSnapshot
    /// The id of its resource, if it could be computed.
    package let resource: ResourceID?
    package let error: VaultError
}
