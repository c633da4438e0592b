import VaultCrypto
import VaultManifest
package import VaultModel
import VaultStorage

// Subscriptions: lists of titles that the vault follows.
extension Vault {
    /// Returns the subscriptions, the oldest first, and how many cannot be read.
    package func subscriptions() async throws -> (subscriptions: [Subscription], damaged: Int) {
        let store = store
        let found = try await pool.run { try store.index.subscriptions() }
        return (found.subscriptions, found.damaged)
    }

    /// Adds a subscription, or gives the one of the same source other choices; its titles stay.
    ///
    /// - Throws: ``VaultError``: `invalidURL`, `invalidArgument`, `owned`; `inUse` if another one has the name; `busy` if
    ///   there are too many.
    package func subscribe(
        _ source: Subscription.Source, _ choices: Subscription.Choices
    ) async throws -> Subscription {
        try requireOwner(to: "keeps subscriptions")
        return try await subscriptionClock.changing.exclusively {
            let subscription = try await subscription(of: source, choices)
            try await write(subscription)
            return subscription
        }
    }

    /// Returns the subscription of a source with other choices, or a new one, which is not written.
    private func subscription(
        of source: Subscription.Source, _ choices: Subscription.Choices
    ) async throws -> Subscription {
        try choices.check()
        if case .feed(let text) = source { _ = try MediaReference(MediaURL(text)).settled() }
        let known = try await subscriptions()
        let former = known.subscriptions.first { $0.source == source }
        let isTaken = known.subscriptions.contains { $0.id != former?.id && $0.choices.name == choices.name }
        guard choices.name == nil || !isTaken else {
            throw VaultError(.inUse, "another subscription has this name; give another one")
        }
        if var former {
            // Another interval counts from now on.
            if former.choices.interval != choices.interval { former.nextRun = nil }
            former.choices = choices
            former.choices.name = choices.name ?? former.choices.name
            return former
        }
        guard known.subscriptions.count < Subscription.maxCount else {
            throw VaultError(
                .busy, "the vault has \(Subscription.maxCount) subscriptions, and no room for more; remove some")
        }
        return Subscription(
            try SecureRandom.identifier("subscription id"), source, choices, added: store.now())
    }

    /// Removes a subscription, with the titles that only it brought if `removesTitles` is true.
    ///
    /// - Parameter id: the short id.
    /// - Returns: how many titles were removed.
    /// - Throws: ``VaultError`` with code `notHeld` if there is none with this id; the error of the first title that
    ///   cannot be removed: then the subscription stays; `integrity` if titles are to be removed that a subscription
    ///   which cannot be read may want.
    package func unsubscribe(_ id: String, removesTitles: Bool) async throws -> Int {
        try requireOwner(to: "keeps subscriptions")
        return try await subscriptionClock.changing.exclusively {
            let (all, damaged) = try await subscriptions()
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
            try await pool.run { try store.removeSubscriptions([subscription.id]) }
            return removed
        }
    }

    /// Removes all subscriptions, also those that cannot be read; their titles stay.
    ///
    /// - Returns: how many there were.
    package func unsubscribeAll() async throws -> Int {
        try requireOwner(to: "keeps subscriptions")
        return try await subscriptionClock.changing.exclusively {
            let (all, damaged) = try await subscriptions()
            let store = store
            try await pool.run { try store.removeAllSubscriptions() }
            return all.count + damaged
        }
    }

    private static func subscription(_ id: String, in all: [Subscription]) throws -> Subscription {
        guard let found = all.first(where: { $0.shortID == id }) else {
            throw VaultError(.notHeld, "there is no subscription with this id; list the subscriptions")
        }
        return found
    }

    // MARK: Running

    /// Runs a subscription: decides what is to be fetched, and removes what is gone once nothing is to be fetched.
    ///
    /// - Parameters:
    ///   - id: the short id.
    ///   - given: what the list names, if the operator gives it; else the feed is read.
    ///   - queues: whether what is to be fetched is put into the download queue, before the run counts as done.
    ///   - isDryRun: whether nothing is changed.
    /// - Throws: ``VaultError`` if the feed cannot be read, or names nothing: then nothing is removed.
    package func sync(
        _ id: String, _ given: SyncList? = nil, queues: Bool = false, isDryRun: Bool = false
    ) async throws -> SyncReport {
        try requireOwner(to: "syncs subscriptions")
        let source = try Self.subscription(id, in: try await subscriptions().subscriptions).source
        let list = await list(of: source, given)
        return try await subscriptionClock.changing.exclusively {
            // It may have been changed or removed while its feed was read.
            let subscription = try Self.subscription(id, in: try await subscriptions().subscriptions)
            return try await run(subscription, list, queues: queues, isDryRun)
        }
    }

    /// Runs the list of a source once, under a subscription that has no schedule unless it had one before.
    ///
    /// - Throws: as ``sync(_:_:queues:isDryRun:)`` and ``subscribe(_:_:)``.
    package func sync(
        _ source: Subscription.Source, _ choices: Subscription.Choices, _ given: SyncList? = nil,
        queues: Bool = false, isDryRun: Bool = false
    ) async throws -> SyncReport {
        try requireOwner(to: "syncs subscriptions")
        let list = await list(of: source, given)
        return try await subscriptionClock.changing.exclusively {
            let former = try await subscriptions().subscriptions.first { $0.source == source }
            // Its choices would change unseen.
            guard former?.choices.interval == nil else {
                throw VaultError(
                    .invalidArgument,
                    "\(former?.place ?? "") is a saved subscription, \(former?.shortID ?? ""); run that, or save it again "
                        + "with other choices")
            }
            return try await run(try await subscription(of: source, choices), list, queues: queues, isDryRun)
        }
    }

    /// Returns what a source names now. A feed may take its time, so nothing waits for it.
    private func list(of source: Subscription.Source, _ given: SyncList?) async -> Result<SyncList, any Error> {
        if let given { return .success(given) }
        do {
            guard case .feed(let text) = source else {
                throw VaultError(.invalidArgument, "the list was given by hand; give it again")
            }
            return .success(.feed(try await FeedReader(environment: loaders.environment).read(try MediaURL(text))))
        } catch {
            return .failure(error)
        }
    }

    private func run(
        _ given: Subscription, _ list: Result<SyncList, any Error>, queues: Bool, _ isDryRun: Bool
    ) async throws -> SyncReport {
        var subscription = given
        subscription.lastRun = store.now()
        var written = subscription
        do {
            var report = try await decide(&subscription, list.get())
            guard !isDryRun else { return report }
            let plan = report
            subscription = plan.subscription
            // What is about to come is its own, and what could not be removed stays its own, even if this is broken off.
            // It is due until everything is done.
            subscription.brought.formUnion(given.brought)
            try await write(subscription)
            written = subscription
            for index in report.removals.indices {
                report.removals[index] = try await removal(of: report.removals[index].title)
            }
            if queues { try await queue(report) }
            subscriptionClock.note(given.id, isWaiting: report.waiting > 0)
            subscription.brought = plan.subscription.brought.union(
                report.removals.filter { $0.error != nil }.map(\.title))
            subscription.failure = report.removals.lazy.compactMap(\.error).first.map(Subscription.Failure.init)
            schedule(&subscription)
            try await write(subscription)
            report.subscription = subscription
            return report
        } catch let error as VaultError where !isDryRun && error.code != .closed {
            // A source that was never read is not kept.
            let isKept = given.lastRun != nil || given.choices.interval != nil
            written.failure = Subscription.Failure(error)
            schedule(&written)
            if isKept { try? await write(written) }
            throw error
        }
    }

    /// Decides what a sync does.
    private func decide(_ subscription: inout Subscription, _ list: SyncList) async throws -> SyncReport {
        let newest = subscription.choices.newest.map { Int($0) }
        let entries: [SyncEntry]
        var passedOver: [SyncEntry] = []
        var unusable: Int
        var repairs = FeedRepairs()
        var mayHideTitles = false
        switch list {
        case .given(let given, let count): (entries, unusable) = (Array(given.prefix(newest ?? .max)), count)
        case .feed(let answer):
            let place = subscription.choices.usesContentIDs ? loaders.environment.names.feedPlace(answer.url) : nil
            let entry = { SyncEntry($0, reach: answer.reach, namedWithin: place) }
            (entries, passedOver) = (answer.feed.newest(newest).map(entry), answer.feed.passedOver.map(entry))
            (unusable, repairs) = (answer.feed.unusable, answer.feed.repairs)
            if place != nil { repairs.count(.sharedName, answer.feed.sharedNames) }
            mayHideTitles = repairs.mayHideEntries || place != nil && answer.feed.sharedNames > 0
            subscription.statedName = answer.feed.title.flatMap(MediaName.cleaned)
        }
        guard !entries.isEmpty else {
            throw VaultError(
                .invalidResponse,
                "\(subscription.place) names no title, so nothing was fetched or removed; check it, or remove the "
                    + "subscription")
        }
        var wanted: [(title: TitleID, entry: SyncEntry)] = []
        var known: Set<TitleID> = []
        for entry in entries {
            guard let title = try await usableTitle(of: entry) else {
                unusable += 1
                continue
            }
            if known.insert(title).inserted { wanted.append((title, entry)) }
        }
        // What it once named as media is not gone because its type is another now.
        for entry in passedOver {
            guard let title = try await usableTitle(of: entry), subscription.brought.contains(title) else { continue }
            unusable += 1
        }
        let most = Subscription.Choices.counts.upperBound
        guard wanted.count <= most else {
            throw VaultError(
                .invalidArgument,
                "a list may name \(most) titles; take the newest alone, or split it into several lists")
        }
        let (all, damaged) = try await subscriptions()
        // What cannot be read may name any title, or want it; and a name that several entries share was that of one.
        let namesAll = unusable == 0 && !mayHideTitles
        let isDecided = namesAll && damaged == 0
        let plan = SyncPlan(
            wanted: wanted.map(\.title), held: try await held(known.union(subscription.brought)),
            subscription: subscription, others: all.filter { $0.id != subscription.id },
            goneTitles: subscription.choices.keepsGone ? .kept : isDecided ? .removed : .undecided)
        subscription.wanted = namesAll ? known : known.union(subscription.wanted)
        subscription.brought = plan.brought
        guard max(subscription.wanted.count, subscription.brought.count) <= Subscription.maxTitles else {
            throw VaultError(
                .invalidArgument,
                "\(subscription.place) has brought too many titles that it no longer names; correct its entries, or "
                    + "remove the subscription")
        }
        var report = SyncReport(subscription: subscription)
        let missing = Set(plan.fetch)
        report.fetch = wanted.filter { missing.contains($0.title) }
        report.removals = try await plan.remove.asyncMap { SyncReport.Removal(title: $0, name: try await name(of: $0)) }
        (report.unchanged, report.pinned, report.waiting) = (plan.unchanged, plan.pinned.count, plan.waiting)
        (report.unusable, report.repairs) = (unusable, repairs.texts)
        return report
    }

    /// Returns the id of a title; nil if it cannot be asked for.
    private func usableTitle(of entry: SyncEntry) async throws -> TitleID? {
        do {
            return try await titleID(of: entry.reference)
        } catch let error as VaultError where [.invalidArgument, .invalidURL, .notHeld].contains(error.code) {
            return nil
        }
    }

    /// Returns what the vault has of titles.
    private func held(_ titles: Set<TitleID>) async throws -> [TitleID: SyncPlan.Held] {
        var held: [TitleID: SyncPlan.Held] = [:]
        let queued = try await downloads.queuedTitles()
        for title in titles {
            // What the operator has queued is the operator's, before a byte of it is there.
            if queued[title] != nil { held[title] = SyncPlan.Held(isKept: true) }
            guard let summary = try await summary(ofTitle: title) else { continue }
            let isPinned = summary.resourceClass == ResourceClass.pinned.rawValue
            held[title] = SyncPlan.Held(
                isWhole: summary.isWhole,
                isKept: queued[title] != nil || isPinned
                    || summary.resourceClass == ResourceClass.download.rawValue,
                isPinned: isPinned)
        }
        return held
    }

    private func summary(ofTitle title: TitleID) async throws -> ResourceSummary? {
        do {
            return try await summary(of: reference(of: title))
        } catch let error as VaultError where [.notHeld, .invalidArgument].contains(error.code) {
            // Two titles with one id, by a rare chance: neither is touched.
            return nil
        }
    }

    private func name(of title: TitleID) async throws -> String? {
        try await summary(ofTitle: title).map { $0.name ?? (try? MediaURL($0.url))?.description ?? "\(title)" }
    }

    /// Removes a title, also from the download queue.
    private func removal(of title: TitleID) async throws -> SyncReport.Removal {
        let name = try await name(of: title)
        do {
            if name == nil { try await downloads.forget(title) } else { try await remove(reference(of: title)) }
            return SyncReport.Removal(title: title, name: name)
        } catch let error as VaultError where error.code == .notHeld {
            return SyncReport.Removal(title: title, name: name)
        } catch let error as VaultError where error.code != .closed {
            return SyncReport.Removal(title: title, name: name, error: error)
        }
    }

    private func schedule(_ subscription: inout Subscription) {
        subscription.failures = subscription.failure == nil ? 0 : subscription.failures + 1
        subscription.nextRun = subscription.choices.interval.map {
            SyncSchedule.next(
                after: store.now(), interval: $0, failures: subscription.failures, chance: .random(in: 0...1))
        }
    }

    private func write(_ subscription: Subscription) async throws {
        let store = store
        try await pool.run { try store.write(subscription) }
    }
}

// Running by a service.
extension Vault {
    /// Puts what a sync is to fetch into the download queue. What is there already is fetched from the URL that the list
    /// names now; what is paused stays paused.
    private func queue(_ report: SyncReport) async throws {
        let queued = try await downloads.queuedTitles()
        let orders = report.fetch.filter { title, entry in
            guard let (url, state) = queued[title] else { return true }
            return state == .failed || url != entry.reference.url.absoluteString
        }.map { _, entry in
            var options = report.subscription.choices.options
            options.name = entry.name.flatMap(MediaName.cleaned)
            options.picture = entry.picture
            return (reference: entry.reference, options: options)
        }
        if !orders.isEmpty { try await downloads.add(orders, resumes: false) }
    }

    /// Begins to run the subscriptions that have an interval, until the vault is closed.
    ///
    /// - Parameter tell: called after each run, with its error if it failed.
    package func startSubscriptions(_ tell: @escaping @Sendable (Subscription, VaultError?) -> Void) {
        guard store.isOwner else { return }
        subscriptionClock.start { [weak self] in
            await self?.removeReplacedTitles()
            await self?.runDueSubscriptions(tell)
        }
    }

    /// Removes titles that lists no longer name, once everything is there that those lists name.
    func removeReplacedTitles() async {
        for id in subscriptionClock.waiting where !Task.isCancelled {
            // What fails is tried again with the next run, which tells about it.
            try? await subscriptionClock.changing.exclusively { try await removeReplacedTitles(of: id) }
        }
    }

    private func removeReplacedTitles(of id: SubscriptionID) async throws {
        let (all, damaged) = try await subscriptions()
        guard damaged == 0, var subscription = all.first(where: { $0.id == id }), !subscription.choices.keepsGone
        else { return subscriptionClock.note(id, isWaiting: false) }
        guard subscription.wanted.isDisjoint(with: try await downloads.queuedTitles().keys) else { return }
        let plan = SyncPlan(
            wanted: Array(subscription.wanted), held: try await held(subscription.wanted.union(subscription.brought)),
            subscription: subscription, others: all.filter { $0.id != id }, goneTitles: .removed)
        guard plan.waiting == 0 else { return }
        let removals = try await plan.remove.asyncMap { try await removal(of: $0) }
        subscription.brought = plan.brought.union(removals.filter { $0.error != nil }.map(\.title))
        try await write(subscription)
        subscriptionClock.note(id, isWaiting: removals.contains { $0.error != nil })
    }

    /// Runs what is due, in the hours of the download queue.
    func runDueSubscriptions(_ tell: @Sendable (Subscription, VaultError?) -> Void) async {
        guard loaders.environment.mode.current.allowsRequests, await downloads.isWithinHours(),
            let known = try? await subscriptions().subscriptions
        else { return }
        for subscription in SyncSchedule.due(known, at: store.now()) where !Task.isCancelled {
            do {
                let report = try await sync(subscription.shortID, queues: true)
                tell(report.subscription, report.removals.lazy.compactMap(\.error).first)
            } catch let error as VaultError {
                tell(subscription, error)
            } catch {
                return
            }
        }
    }
}

extension Subscription.Failure {
    fileprivate init(_ error: VaultError) { self.init(code: error.code.description, message: error.message) }
}

extension Sequence {
    /// Returns the results of an async closure, one after the other.
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
