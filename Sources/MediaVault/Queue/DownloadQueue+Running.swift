import Foundation
import VaultCache
import VaultModel
import VaultStorage

// Runs the downloads of the queue.
extension DownloadQueue {
    /// Starts running the queue, which continues until the vault is closed. A second call does nothing.
    public func start() {
        guard store.isOwner else { return }
        state.withLock { state in
            guard state.loop == nil, !state.isEnded else { return }
            state.loop = Task { await self.run() }
        }
    }

    /// Stops the queue and all running downloads. They continue when the vault is opened and its queue started again.
    func end() async {
        let (loop, running) = state.withLock { state in
            state.isEnded = true
            for id in state.running.keys { state.running[id]?.isEnding = true }
            return (state.loop, state.running.values.compactMap(\.task))
        }
        loop?.cancel()
        for task in running { task.cancel() }
        // Those who follow the queue learn that it has ended.
        tell { _ in }
        await loop?.value
        for task in running { await task.value }
    }

    /// How long to wait before reading the queue from the index again after a failure.
    private static let readingDelay: Duration = .seconds(10)

    private func run() async {
        while !Task.isCancelled {
            do {
                try await load()
                break
            } catch {
                try? await Task.sleep(for: Self.readingDelay)
            }
        }
        wake()
        for await _ in wakes {
            guard !Task.isCancelled else { return }
            let plan = startWhatIsDue()
            stop(plan.stop)
            stop(plan.giveWay, givingWay: true)
            timer.withLock { timer in
                timer?.cancel()
                timer = plan.next.map { seconds in
                    Task { [waking] in
                        try? await Task.sleep(for: .seconds(seconds))
                        if !Task.isCancelled { waking.yield() }
                    }
                }
            }
        }
    }

    /// Starts the downloads that should run now, and returns the plan that chose them.
    private func startWhatIsDue() -> DownloadSchedule.Plan {
        let now = Self.moment(store.index.now())
        var plan = DownloadSchedule.Plan()
        tell { state in
            guard !state.isEnded else { return }
            plan = state.plan(at: now)
            for id in plan.start {
                guard let entry = state.list?[id] else { continue }
                state.list?.note(entry.progress, of: id, revision: state.revision)
                state.running[id] = Running(
                    task: Task { await self.carryOut(entry.download) },
                    pace: DownloadPace(held: entry.progress?.held ?? 0, at: now.time))
            }
        }
        return plan
    }

    /// Returns a time together with its local time of day.
    static func moment(_ time: Int64) -> DownloadSchedule.Moment {
        let local = time + Int64(TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time))))
        return DownloadSchedule.Moment(time: time, secondOfDay: Int(((local % 86_400) + 86_400) % 86_400))
    }

    /// Tells running downloads to stop.
    ///
    /// - Parameter givesWay: whether they are stopped because they are too slow while others wait.
    func stop(_ ids: some Sequence<DownloadID>, givingWay givesWay: Bool = false) {
        let tasks = state.withLock { state in
            ids.compactMap { id -> Task<Void, Never>? in
                state.running[id]?.isEnding = true
                state.running[id]?.givesWay = givesWay
                return state.running[id]?.task
            }
        }
        for task in tasks { task.cancel() }
    }

    // MARK: One download

    private func carryOut(_ download: QueuedDownload) async {
        let result: Result<Void, any Error>
        do {
            let reference = try await reference(of: download)
            try await TitleJob(loaders, feedPictures, reference, download.order.options, within: rate) {
                [self] progress in
                tell { state in
                    let before = state.running[download.id]?.heldBefore ?? progress.held
                    if state.running[download.id]?.heldBefore == nil {
                        state.running[download.id]?.pace = DownloadPace(held: before, at: store.index.now())
                    }
                    state.running[download.id]?.heldBefore = before
                    state.list?.note(progress, of: download.id, revision: state.revision)
                }
            }.run()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await finish(download.id, result)
        wake()
    }

    private func finish(_ id: DownloadID, _ result: Result<Void, any Error>) async {
        await noteName(of: id)
        let failed = await changing.exclusively { () -> FailedDownload? in
            // A download that was told to stop may end with any error, so its error does not count as a failure.
            let (entry, running) = state.withLock { ($0.list?[id], $0.running[id]) }
            let isEnding = running?.isEnding ?? true
            defer {
                tell { state in
                    state.running[id] = nil
                    // Note the progress again, so that followers of the queue learn that the entry no longer runs.
                    let progress = state.list?[id]?.progress
                    state.list?.note(progress, of: id, revision: state.revision)
                }
            }
            guard let entry else { return nil }
            switch result {
            case .success:
                // Removing the entry need not be durable: if a crash undoes it, the title is already complete.
                await forgetDone(id)
                return nil
            case .failure(let error as VaultError) where !isEnding && error.code != .closed:
                return await note(error, of: entry, heldBefore: running?.heldBefore)
            case .failure where running?.givesWay ?? false:
                await putBehind(entry)
                return nil
            case .failure:
                // A download that stops without being told to, because the vault closes, must not restart immediately.
                var waiting = entry.download
                if !isEnding { waiting.notBefore = store.index.now() + 1 }
                tell { state in
                    state.list?.put(waiting, revision: state.revision)
                    state.list?.note(entry.progress, of: id, revision: state.revision)
                }
                return nil
            }
        }
        guard let failed else { return }
        for listener in state.withLock({ $0.failureListeners.all }) { listener(failed) }
    }

    /// Records the name that the vault now has for an entry's title, which its media may have stated.
    private func noteName(of id: DownloadID) async {
        guard let download = state.withLock({ $0.list?[id]?.download }) else { return }
        let store = store
        let name = try? await pool.run { Self.names(of: [download], in: store)[id] }
        state.withLock { $0.list?.note(name: name ?? nil, of: id) }
    }

    private func forgetDone(_ id: DownloadID) async {
        let store = store
        try? await loaders.environment.pool.run { try store.downloads.remove([id], isForgotten: false) }
        tell { $0.end(id, as: .done) }
    }

    /// Moves an entry that was too slow behind all others, and records the reason.
    private func putBehind(_ entry: DownloadList.Entry) async {
        let (last, rate) = state.withLock { state in
            (state.list?.lastPosition ?? entry.download.position, state.settings.leastRateOfEach)
        }
        var changed = entry.download
        changed.position = last
        if changed.state == .waiting {
            changed.failure = QueuedDownload.Failure(
                VaultError(
                    .unreachable,
                    "\(entry.host) sent less than \(rate) bytes a second while others waited; the download continues "
                        + "behind them"))
            changed.notBefore =
                store.index.now()
                + loaders.environment.retry.queueDelay(attempts: changed.attempts, chance: .random(in: 0...1))
            changed.attempts += 1
        }
        await keep(changed, entry.progress)
    }

    /// Writes an entry whose attempt has ended. If it cannot be written, for example on a full disk, the entry is kept
    /// in memory until the vault is closed.
    private func keep(_ download: QueuedDownload, _ progress: DownloadProgress?) async {
        let store = store
        try? await loaders.environment.pool.run { try store.downloads.write([download], isDurable: false) }
        tell { state in
            state.list?.put(download, revision: state.revision)
            state.list?.note(progress, of: download.id, revision: state.revision)
        }
    }

    /// Records why an entry failed, and when it will be retried.
    private func note(
        _ given: VaultError, of entry: DownloadList.Entry, heldBefore: Int64?
    ) async -> FailedDownload {
        var error = given
        // Where the mode allows requests, a byte can be missing only because the origin did not deliver it.
        if error.code == .notHeld, loaders.environment.mode.current.allowsRequests { error.code = .unreachable }
        var changed = entry.download
        // If this attempt made progress, the retry delays start from the shortest again.
        let hasMoved = (entry.progress?.held ?? 0) > heldBefore ?? .max
        let attempts = hasMoved ? 0 : changed.attempts
        let retry = DownloadRetry(
            after: error, attempts: attempts, chance: .random(in: 0...1), policy: loaders.environment.retry)
        changed.failure = QueuedDownload.Failure(error)
        switch retry {
        case .no: changed.state = .failed
        case .soon: changed.notBefore = store.index.now() + 1
        case .after(let seconds):
            changed.attempts = attempts + 1
            changed.notBefore = store.index.now() + seconds
        }
        let written = changed
        await keep(written, entry.progress)
        let resource: ResourceID? =
            if let reference = try? await reference(of: written) { try? await loaders.name(reference).id } else { nil }
        let snapshot = state.withLock { state in
            DownloadSnapshot(state.list?[written.id] ?? entry)
        }
        return FailedDownload(snapshot: snapshot, resource: resource, error: error)
    }

    /// Registers a closure to call after a download fails, whether or not it will be retried.
    ///
    /// - Returns: the id for ``stopListeningForFailures(_:)``.
    public func listenForFailures(_ tell: @escaping @Sendable (FailedDownload) -> Void) -> Int {
        state.withLock { $0.failureListeners.add(tell) }
    }

    /// Removes a closure that ``listenForFailures(_:)`` registered.
    public func stopListeningForFailures(_ listener: Int) {
        state.withLock { $0.failureListeners.remove(listener) }
    }
}
