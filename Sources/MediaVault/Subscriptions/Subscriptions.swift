import VaultCache
import VaultCrypto
public import VaultModel
import VaultStorage

/// The subscriptions of a vault to feeds and lists of titles.
public struct Subscriptions: Sendable {
    let titles: Titles
    let downloads: DownloadQueue
    /// Runs the subscriptions, once a service has started the clock.
    let clock: SubscriptionClock

    var loaders: LoaderTable { titles.loaders }
    var store: VaultStore { titles.store }
    var pool: BlockingPool { titles.pool }

    /// Returns the subscriptions, the oldest first, and the number of subscriptions that cannot be read.
    public func all() async throws -> (subscriptions: [MediaSubscription], damaged: Int) {
        let store = store
        let found = try await pool.run { try store.subscriptions.all() }
        return (found.subscriptions, found.damaged)
    }

    /// Counts the subscriptions, and those that have failed for a day or longer.
    public func counts() async throws -> SubscriptionCounts {
        let now = store.index.now()
        // The records may be large, and the status is asked for often, so the owner reads them once between changes.
        let kept = clock.known
        if store.isOwner, let states = kept.states { return SubscriptionCounts(states, at: now) }
        let known = try await all().subscriptions.map {
            SubscriptionState(isFollowed: $0.choices.interval != nil, failingSince: $0.failingSince)
        }
        clock.keep(known, unlessChangedSince: kept.changes)
        return SubscriptionCounts(known, at: now)
    }

    /// Adds a subscription. If the source already has one, this changes its choices; its titles stay.
    ///
    /// - Parameters:
    ///   - source: the feed, or the list that the operator supplies.
    ///   - choices: what to fetch and keep of it.
    ///   - tries: whether to read the source first if it is new, has moved, or failed at its last run. The subscription
    ///     is then stored only if the source names a title. If a service runs the subscription, this is its first run;
    ///     otherwise the first run reads the source again.
    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument` if the source or the choices cannot be
    ///   used; `owned` if this process is not the owner; `inUse` if another subscription has the name; `busy` if there
    ///   are too many subscriptions; with `tries`, also the errors of ``sync(_:_:queues:isDryRun:)``. In all these
    ///   cases nothing is changed.
    public func add(
        _ source: MediaSubscription.Source, _ choices: MediaSubscription.Choices, tries: Bool = false
    ) async throws -> MediaSubscription {
        try store.requireOwner(to: "keeps subscriptions")
        let draft = try await subscription(of: source, choices)
        let isNew = draft.lastRun == nil || draft.isGone || draft.movedTo != nil || draft.failure != nil
        let isTried = if case .feed = source { tries && isNew } else { false }
        let list = isTried ? await list(of: draft, nil) : nil
        let saved = try await clock.changing.exclusively {
            var subscription = try await subscription(of: source, choices)
            // Request the feed from the operator's URL, even if it had moved or was gone in an earlier run.
            (subscription.movedTo, subscription.isGone) = (nil, false)
            guard let list else {
                try await write(subscription)
                return subscription
            }
            do {
                var found = subscription
                _ = try await decide(&found, list.get())
                if found.choices.interval != nil, clock.isRunning, await downloads.isWithinHours() {
                    return try await run(subscription, list, queues: true, false).subscription
                }
                // The source was only tried, so no titles were added and the first run is due.
                found.brought = subscription.brought
                found.note(nil, at: store.index.now())
                found.nextRun = nil
                try await write(found)
                return found
            } catch var error as VaultError where error.code != .closed {
                let mayPass = error.code != .refused || DownloadRetry.isPassing(error.originStatus)
                if [.unreachable, .refused, .notHeld].contains(error.code), mayPass {
                    error.hint = error.hint ?? .addUntried
                }
                throw error
            }
        }
        clock.wake()
        return saved
    }

    /// Returns the source's existing subscription with new choices, or a new subscription. Neither is written.
    func subscription(
        of source: MediaSubscription.Source, _ choices: MediaSubscription.Choices
    ) async throws -> MediaSubscription {
        try choices.check()
        if case .feed(let text) = source { _ = try MediaReference(MediaURL(text)).settled() }
        let known = try await all()
        let former = known.subscriptions.first { $0.source == source }
        let isTaken = known.subscriptions.contains { $0.id != former?.id && $0.choices.name == choices.name }
        guard choices.name == nil || !isTaken else {
            throw VaultError(.inUse, "another subscription has this name; give another one")
        }
        if var former {
            // A new interval starts now.
            if former.choices.interval != choices.interval { former.nextRun = nil }
            former.choices = choices
            former.choices.name = choices.name ?? former.choices.name
            return former
        }
        guard known.subscriptions.count < MediaSubscription.maxCount else {
            throw VaultError(
                .busy, "the vault has \(MediaSubscription.maxCount) subscriptions, and no room for more; remove some")
        }
        return MediaSubscription(
            try SecureRandom.identifier("subscription id"), source, choices, added: store.index.now())
    }

    /// Removes a subscription. If `removesTitles` is true, the titles that only this subscription added are removed,
    /// too.
    ///
    /// - Parameters:
    ///   - id: the subscription's short id.
    ///   - removesTitles: whether to remove the titles that only this subscription added.
    /// - Returns: the number of titles that were removed.
    /// - Throws: ``VaultError`` with code `notHeld` if no subscription has this id; the error of the first title that
    ///   cannot be removed, in which case the subscription stays; `integrity` if titles are to be removed that an
    ///   unreadable subscription may want.
    public func remove(_ id: String, removesTitles: Bool) async throws -> Int {
        try store.requireOwner(to: "keeps subscriptions")
        return try await clock.changing.exclusively {
            let (all, damaged) = try await all()
            let subscription = try Self.subscription(id, in: all)
            var removed = 0
            if removesTitles {
                guard damaged == 0 else {
                    throw VaultError(
                        .integrity,
                        "a subscription cannot be read, and may want these titles, so nothing was removed; remove the "
                            + "subscription without its titles, or all subscriptions")
                }
                let others = all.filter { $0.id != subscription.id }
                let held = try await held(subscription.brought)
                let plan = SyncPlan(
                    wanted: [], held: held, subscription: subscription, others: others, goneTitles: .removed)
                for title in plan.remove {
                    if let error = try await removal(of: title).error { throw error }
                    removed += 1
                }
            }
            let store = store
            try await pool.run { try store.subscriptions.remove([subscription.id]) }
            clock.noteChange()
            return removed
        }
    }

    /// Removes all subscriptions, even those that cannot be read. Their titles stay.
    ///
    /// - Returns: the number of subscriptions that were removed.
    public func removeAll() async throws -> Int {
        try store.requireOwner(to: "keeps subscriptions")
        return try await clock.changing.exclusively {
            let (all, damaged) = try await all()
            let store = store
            try await pool.run { try store.subscriptions.removeAll() }
            clock.noteChange()
            return all.count + damaged
        }
    }

    static func subscription(_ id: String, in all: [MediaSubscription]) throws -> MediaSubscription {
        guard let found = all.first(where: { $0.shortID == id }) else {
            throw VaultError(.notHeld, "there is no subscription with this id; list the subscriptions")
        }
        return found
    }

    /// Sets the name of a subscription; nil brings back the name that the feed states.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such subscription; `inUse` if another one has the
    ///   name; `storage` or `diskFull` if it cannot be written.
    func rename(feed id: String, to name: String?) async throws {
        try await clock.changing.exclusively {
            let all = try await all().subscriptions
            guard var subscription = all.first(where: { $0.id.hex == id }) else {
                throw VaultError(.notHeld, "the subscription was removed; list the subscriptions")
            }
            guard name == nil || !all.contains(where: { $0.id != subscription.id && $0.choices.name == name }) else {
                throw VaultError(.inUse, "another subscription has this name; give another one")
            }
            subscription.choices.name = name
            try subscription.choices.check()
            try await write(subscription)
        }
    }

    func write(_ subscription: MediaSubscription) async throws {
        let store = store
        try await pool.run { try store.subscriptions.write(subscription) }
        clock.noteChange()
    }

    /// Starts running subscriptions that have an interval, which continues until the vault is closed.
    ///
    /// - Parameter tell: called after each run with the subscription as it is now, and with the error if the run failed.
    public func start(_ tell: @escaping @Sendable (MediaSubscription, VaultError?) -> Void) {
        guard store.isOwner else { return }
        // The clock must not retain the objects that it works on, because they retain the store.
        let (pictures, tasks) = (titles.pictures, titles.backgroundTasks)
        clock.start { [weak loaders = loaders, weak downloads, weak marks = titles.marks, weak clock] in
            guard let loaders, let downloads, let marks, let clock else { return }
            let titles = Titles(
                loaders: loaders, downloads: downloads, pictures: pictures, backgroundTasks: tasks, marks: marks)
            let subscriptions = Subscriptions(titles: titles, downloads: downloads, clock: clock)
            await subscriptions.removeReplacedTitles()
            await subscriptions.runDueSubscriptions(tell)
        }
    }

    /// Removes titles that their lists no longer name, once everything that those lists name is held whole.
    func removeReplacedTitles() async {
        for id in clock.waiting where !Task.isCancelled {
            // If this fails, the subscription's next run tries again and reports the failure.
            try? await clock.changing.exclusively { try await removeReplacedTitles(of: id) }
        }
    }

    private func removeReplacedTitles(of id: SubscriptionID) async throws {
        let (all, damaged) = try await all()
        guard damaged == 0, var subscription = all.first(where: { $0.id == id }), !subscription.choices.keepsGone
        else { return clock.note(id, isWaiting: false) }
        guard subscription.wanted.isDisjoint(with: try await downloads.queuedTitles().keys) else { return }
        let plan = SyncPlan(
            wanted: Array(subscription.wanted), held: try await held(subscription.wanted.union(subscription.brought)),
            subscription: subscription, others: all.filter { $0.id != id }, goneTitles: .removed)
        guard plan.waiting == 0 else { return }
        var removals: [SyncReport.Removal] = []
        for title in plan.remove { removals.append(try await removal(of: title)) }
        subscription.brought = plan.brought.union(removals.filter { $0.error != nil }.map(\.title))
        try await write(subscription)
        clock.note(id, isWaiting: removals.contains { $0.error != nil })
    }

    /// Runs all subscriptions that are due, if the download queue's hours include the current time.
    func runDueSubscriptions(_ tell: @Sendable (MediaSubscription, VaultError?) -> Void) async {
        guard loaders.environment.mode.current.allowsRequests, await downloads.isWithinHours(),
            let known = try? await all().subscriptions
        else { return }
        for subscription in SyncSchedule.due(known, at: store.index.now()) where !Task.isCancelled {
            do {
                let report = try await sync(subscription.shortID, queues: true)
                tell(report.subscription, report.failure)
            } catch let error as VaultError {
                let now = (try? await all().subscriptions)?.first { $0.id == subscription.id }
                tell(now ?? subscription, error)
            } catch {
                return
            }
        }
    }
}

/// The number of subscriptions of a vault.
public struct SubscriptionCounts: Hashable, Codable, Sendable {
    /// The number of subscriptions that a service runs on a schedule.
    public let followed: Int
    /// The number of subscriptions whose runs have all failed for a day or longer.
    public let failing: Int

    package init(followed: Int, failing: Int) { (self.followed, self.failing) = (followed, failing) }

    init(_ states: [SubscriptionState], at now: Int64) {
        self.init(
            followed: states.count(where: \.isFollowed),
            failing: states.count { $0.failingSince.map { now - $0 >= MediaSubscription.patience } ?? false })
    }
}

/// What the counts need to know of a subscription.
struct SubscriptionState: Hashable, Sendable {
    /// Whether a service runs it on a schedule.
    let isFollowed: Bool
    /// When the first run since the last success failed, in seconds since 1970; nil if the last run did not fail.
    let failingSince: Int64?
}
