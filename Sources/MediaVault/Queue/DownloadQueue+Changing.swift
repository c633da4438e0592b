import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

// Adds downloads to the queue, and changes and removes its entries.
extension DownloadQueue {
    /// Adds downloads at the end of the queue, or at its start.
    ///
    /// A download that is already queued keeps its place unless `first` is set. If it is not running, it gets the new
    /// options and waits again.
    ///
    /// - Parameters:
    ///   - downloads: what to download, and how.
    ///   - first: whether they go to the start of the queue.
    ///   - resumes: whether paused entries are resumed, too.
    /// - Returns: the entries, one for each download.
    /// - Throws: ``VaultError`` with code `owned` if this process is not the owner; `busy` if the queue would exceed
    ///   ``maxEntries``; `invalidArgument` if a reference cannot be used. In all these cases nothing
    ///   is added.
    @discardableResult
    public func add(
        _ downloads: [(reference: MediaReference, options: DownloadOptions)], first: Bool = false, resumes: Bool = true
    ) async throws -> [DownloadSnapshot] {
        try store.requireOwner(to: "queues downloads")
        try await load()
        return try await changing.exclusively {
            // Name the resources under the lock, so that the locator cannot change before their entries are written.
            var named: [NamedOrder] = []
            for download in downloads { named.append(try await name(download.reference, download.options)) }
            let entries = try await entries(for: named, first: first, resumes: resumes)
            try await write(entries.filter(\.isChanged).map(\.download))
            state.withLock { state in
                for (entry, order) in zip(entries, named) {
                    state.list?.note(name: order.titleName, of: entry.download.id)
                }
            }
            forgetEnded(of: Set(entries.map(\.download.title)))
            wake()
            return state.withLock { state in
                entries.compactMap { state.list?[$0.download.id] }.map { state.snapshot($0) }
            }
        }
    }

    /// An order, with the resource and the title that it identifies in this vault.
    private struct NamedOrder: Sendable {
        let order: DownloadOrder
        let resource: ResourceID
        let title: TitleID
        /// The name that the vault has for the title; nil if it has none.
        let titleName: String?
    }

    private func name(_ given: MediaReference, _ options: DownloadOptions) async throws -> NamedOrder {
        let reference = try loaders.settled(given)
        let resource = try await loaders.name(given)
        let (store, id) = (store, resource.id)
        let found = try await pool.run { try store.index.resources.find(id) }
        let stored = found?.titleID
        // A resource for one user is requested by its stored title, because that title's record has the header fields.
        let isByID = given.titleID != nil || (reference.principal != nil && stored != nil)
        return NamedOrder(
            order: DownloadOrder(reference, options, isByID: isByID), resource: id,
            title: given.titleID ?? stored ?? TitleID(of: id), titleName: found?.metadata.name)
    }

    /// Returns the entries for the given orders: existing entries with their changes, and new ones.
    private func entries(
        for orders: [NamedOrder], first: Bool, resumes: Bool
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
                    (changed.attempts, changed.notBefore, changed.failure) = (0, nil, nil)
                    if resumes || changed.state != .paused { changed.state = .waiting }
                }
                if first { changed.position = position }
                entries.append((changed, !isRunning || first))
            } else {
                added += 1
                let download = QueuedDownload(
                    try SecureRandom.identifier("download id"), order.order, title: order.title,
                    added: store.index.now(),
                    position: position)
                entries.append((download, true))
            }
        }
        guard added == 0 || count + added <= DownloadQueue.maxEntries else {
            throw VaultError(
                .busy,
                "the queue has room for \(DownloadQueue.maxEntries) downloads, and \(count) are in it; wait until some are "
                    + "done, or cancel some")
        }
        return entries
    }

    /// Returns the queue's entry for the resource of an order; nil if the queue has none.
    private func queued(_ order: NamedOrder) async throws -> QueuedDownload? {
        for entry in state.withLock({ $0.list?.entries(of: order.title) ?? [] }) {
            let reference = try? await reference(of: entry.download)
            if let reference, try await loaders.name(reference).id == order.resource { return entry.download }
        }
        return nil
    }

    /// Returns the reference that an entry downloads.
    func reference(of download: QueuedDownload) async throws -> MediaReference {
        let names = loaders.environment.names
        return try await pool.run { try download.order.reference(to: download.title, in: names) }
    }

    /// Returns the reference by which a queued title is downloaded; nil unless exactly one entry has that title.
    public func reference(ofQueued title: TitleID) async throws -> MediaReference? {
        try await load()
        let entries = state.withLock { $0.list?.entries(of: title) ?? [] }
        guard let entry = entries.first, entries.count == 1 else { return nil }
        return try await reference(of: entry.download)
    }

    /// Applies an act to the selected entries of the queue.
    ///
    /// - Returns: the number of entries that were changed.
    /// - Throws: ``VaultError`` with code `notHeld` if a title is not in the queue, in which case nothing is changed.
    public func change(_ act: DownloadAct, of selection: DownloadSelection) async throws -> Int {
        try store.requireOwner(to: "changes its download queue")
        try await load()
        return try await changing.exclusively {
            let chosen = try chosen(selection)
            var count = chosen.count
            if act == .cancel, selection == .all {
                count += state.withLock(\.damaged)
                try await removeAll()
            } else if act == .cancel {
                try await remove(chosen.map(\.id))
            } else if act == .clear {
                let over = selection == .all ? ended.map(\.title) : []
                let failed = chosen.filter { $0.state == .failed }
                count = failed.count + over.count
                try await remove(failed.map(\.id))
                forgetEnded(of: Set(over + failed.map(\.title)))
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

    private func chosen(_ selection: DownloadSelection) throws -> [QueuedDownload] {
        try state.withLock { state in
            guard let list = state.list else { return [] }
            guard case .titles(let titles) = selection else { return list.inOrder.map(\.download) }
            let found = try titles.flatMap { title in
                let entries = list.entries(of: title)
                guard !entries.isEmpty else {
                    throw VaultError(
                        .notHeld,
                        "no download of \(title) is in the queue; what a client fetched by itself, fetch again")
                }
                return entries.map(\.download)
            }
            var seen: Set<DownloadID> = []
            return found.filter { seen.insert($0.id).inserted }
        }
    }

    /// Returns the entries that an act changes, in their changed form. They keep their relative order.
    private func moved(_ downloads: [QueuedDownload], by act: DownloadAct) -> [QueuedDownload] {
        let (first, last) = state.withLock { ($0.list?.firstPosition ?? 0, $0.list?.lastPosition ?? 0) }
        let sorted = downloads.sorted { $0.place < $1.place }
        let start = act == .first ? first - Int64(sorted.count - 1) : last
        return sorted.enumerated().compactMap { act.applied(to: $1, position: start + Int64($0)) }
    }

    /// Removes the entries of a resource that is about to be removed, and waits until none of them runs. Otherwise the
    /// queue would treat the removal as a failure, and fetch the resource again.
    ///
    /// - Throws: ``VaultError`` if the queue cannot be read or written, in which case no entry was removed.
    func forget(_ resource: NamedResource) async throws {
        try await forget {
            let titles = await titles(of: resource)
            return (titles, await entries(of: resource, among: titles).map(\.id))
        }
    }

    /// Removes the queue's entries of a title that is not in the vault, and waits until none of them runs.
    func forget(_ title: TitleID) async throws {
        try await forget { ([title], state.withLock { $0.list?.entries(of: title) ?? [] }.map(\.download.id)) }
    }

    /// Removes entries from the queue, and their titles from the list of ended downloads; waits until none of the
    /// entries runs.
    ///
    /// - Parameter choose: returns the titles and the entries. It is called while nothing else can change the queue.
    private func forget(_ choose: () async -> (titles: Set<TitleID>, entries: [DownloadID])) async throws {
        try await load()
        let (titles, running) = try await changing.exclusively {
            let (titles, entries) = await choose()
            // A stopped download may still be ending after its entry has left the queue, so its task is captured first.
            let running = state.withLock { state in entries.compactMap { state.running[$0]?.task } }
            try await remove(entries)
            return (titles, running)
        }
        forgetEnded(of: titles)
        for task in running { await task.value }
    }

    /// Stops listing the ended downloads of these titles, both in this queue and in its listeners.
    private func forgetEnded(of titles: Set<TitleID>) {
        tell { $0.forgetEnded(of: titles) }
        for listener in state.withLock({ $0.forgettingListeners.all }) { listener(titles) }
    }

    /// Registers a closure to call with titles that are removed or queued, so that their ended downloads are no longer
    /// listed. It must not block, and stays registered while the vault is open.
    public func listenForForgetting(_ tell: @escaping @Sendable (Set<TitleID>) -> Void) {
        state.withLock { _ = $0.forgettingListeners.add(tell) }
    }

    /// Returns the title ids under which a resource may have been queued, whether or not it is in the vault.
    private func titles(of resource: NamedResource) async -> Set<TitleID> {
        let (store, id, given) = (store, resource.id, resource.reference.titleID)
        // If the resource's row does not open, its title id is unknown; the title was then queued under the id of its
        // URL.
        let stored = try? await pool.run { try store.index.resources.find(id)?.titleID }
        return Set([TitleID(of: id), given, stored].compactMap(\.self))
    }

    /// Returns the entries of a resource, whether stored or not, and all entries whose resource cannot be determined.
    private func entries(of resource: NamedResource, among titles: Set<TitleID>) async -> [QueuedDownload] {
        let id = resource.id
        var found: [QueuedDownload] = []
        for entry in state.withLock({ state in titles.flatMap { state.list?.entries(of: $0) ?? [] } }) {
            let other = try? await loaders.name(reference(of: entry.download)).id
            if other == nil || other == id { found.append(entry.download) }
        }
        return found
    }

    // MARK: Writing

    /// The number of rows that are deleted in one transaction.
    private static let batch = 1000

    /// Writes entries durably, either all or none, then updates them in memory. The caller holds ``changing``.
    private func write(_ downloads: [QueuedDownload]) async throws {
        let store = store
        try await pool.run { try store.downloads.write(downloads, isDurable: true) }
        tell { $0.list?.put(downloads, revision: $0.revision) }
    }

    /// Removes entries from the queue and stops those that run. The caller holds ``changing``.
    private func remove(_ ids: [DownloadID]) async throws {
        let store = store
        for start in stride(from: 0, to: ids.count, by: Self.batch) {
            let batch = Array(ids[start..<min(start + Self.batch, ids.count)])
            try await pool.run { try store.downloads.remove(batch, isForgotten: true) }
            tell { state in
                for id in batch { state.end(id, as: .ended) }
            }
            stop(batch)
        }
    }

    /// Removes all entries, even those whose rows do not open, and stops those that run. The caller holds
    /// ``changing``.
    private func removeAll() async throws {
        let store = store
        try await pool.run { try store.downloads.removeAll() }
        tell { state in
            for entry in state.list?.inOrder.suffix(Self.maxEnded) ?? [] { state.end(entry.download.id, as: .ended) }
            // Nothing is remembered of the entries before these.
            if state.list?.count ?? 0 > 0 { state.forgottenRevision = state.revision }
            state.list = DownloadList()
            state.damaged = 0
        }
        stop(state.withLock { Array($0.running.keys) })
    }
}
