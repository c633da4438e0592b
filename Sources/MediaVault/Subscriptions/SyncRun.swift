import VaultCache
public import VaultModel
import VaultStorage

// Runs of subscriptions, which fetch the titles that a list names, and remove those that it no longer names.
extension Subscriptions {
    /// Runs a subscription: decides what to fetch, and removes titles that are gone once there is nothing left to
    /// fetch.
    ///
    /// - Parameters:
    ///   - id: the subscription's short id.
    ///   - given: the list's content, if the operator provides it; nil to read the feed.
    ///   - queues: whether to add the titles to the download queue before the run counts as done.
    ///   - isDryRun: whether to change nothing.
    /// - Throws: ``VaultError`` if the feed cannot be read, or names no title, in which case nothing is removed.
    public func sync(
        _ id: String, _ given: SyncList? = nil, queues: Bool = false, isDryRun: Bool = false
    ) async throws -> SyncReport {
        try store.requireOwner(to: "syncs subscriptions")
        let list = await list(of: try Self.subscription(id, in: try await all().subscriptions), given)
        return try await clock.changing.exclusively {
            // The subscription may have been changed or removed while the feed was read.
            let subscription = try Self.subscription(id, in: try await all().subscriptions)
            return try await run(subscription, list, queues: queues, isDryRun)
        }
    }

    /// Runs a source's list once. If the source has no subscription yet, it gets one without a schedule.
    ///
    /// - Throws: the errors of ``sync(_:_:queues:isDryRun:)`` and ``add(_:_:tries:)``; also ``VaultError`` with
    ///   code `invalidArgument` if the source has a subscription with a schedule.
    public func sync(
        _ source: MediaSubscription.Source, _ choices: MediaSubscription.Choices, _ given: SyncList? = nil,
        queues: Bool = false, isDryRun: Bool = false
    ) async throws -> SyncReport {
        try store.requireOwner(to: "syncs subscriptions")
        let list = await list(of: try await subscription(of: source, choices), given)
        return try await clock.changing.exclusively {
            let former = try await all().subscriptions.first { $0.source == source }
            // Running a saved subscription here would silently change its choices.
            guard former?.choices.interval == nil else {
                throw VaultError(
                    .invalidArgument,
                    "\(former?.place ?? "") is a saved subscription, \(former?.shortID ?? ""); run that, or save it again "
                        + "with other choices")
            }
            return try await run(try await subscription(of: source, choices), list, queues: queues, isDryRun)
        }
    }

    /// Returns the titles that a subscription's source names now. Reading a feed may take a while, so no lock is held.
    func list(of subscription: MediaSubscription, _ given: SyncList?) async -> Result<SyncList, any Error> {
        if let given { return .success(given) }
        do {
            guard case .feed(let text) = subscription.source else {
                throw VaultError(.invalidArgument, "the list was given by hand; give it again")
            }
            let answer = try await FeedReader(environment: loaders.environment).read(
                try MediaURL(text), newest: subscription.choices.newest.map { Int($0) },
                movedTo: subscription.movedTo.flatMap { try? MediaURL($0) })
            return .success(.feed(answer))
        } catch {
            return .failure(error)
        }
    }

    func run(
        _ given: MediaSubscription, _ list: Result<SyncList, any Error>, queues: Bool, _ isDryRun: Bool
    ) async throws -> SyncReport {
        var subscription = given
        subscription.lastRun = store.index.now()
        var written = subscription
        do {
            var report = try await decide(&subscription, list.get())
            guard !isDryRun else { return report }
            let plan = report
            subscription = plan.subscription
            // Even if the run is interrupted, titles that are about to arrive and titles that could not be removed
            // belong to the subscription. The subscription stays due until everything is done.
            subscription.brought.formUnion(given.brought)
            try await write(subscription)
            written = subscription
            for index in report.removals.indices {
                report.removals[index] = try await removal(of: report.removals[index].title)
            }
            if queues { try await queue(report) }
            clock.note(given.id, isWaiting: report.waiting > 0)
            subscription.brought = plan.subscription.brought.union(
                report.removals.filter { $0.error != nil }.map(\.title))
            subscription.isGone = false
            schedule(&subscription, after: report.failure)
            try await write(subscription)
            report.subscription = subscription
            return report
        } catch let error as VaultError where !isDryRun && error.code != .closed {
            // A source that was never read successfully is not stored.
            let isKept = given.lastRun != nil || given.choices.interval != nil
            if error.originStatus == 410 { written.isGone = true }
            schedule(&written, after: error)
            if isKept { try? await write(written) }
            throw error
        }
    }

    /// Records how a run ended, and when the subscription's next run is due.
    private func schedule(_ subscription: inout MediaSubscription, after error: VaultError?) {
        let failure = error.map { MediaSubscription.Failure(code: $0.code.description, message: $0.message) }
        subscription.note(failure, at: store.index.now())
        subscription.nextRun = subscription.choices.interval.map {
            SyncSchedule.next(
                after: store.index.now(), interval: $0, failures: subscription.failures, error,
                chance: .random(in: 0...1))
        }
    }

    /// Adds the titles that a sync should fetch to the download queue. A title that is already queued is fetched from
    /// the URL that the list now names. A paused title stays paused.
    private func queue(_ report: SyncReport) async throws {
        let queued = try await downloads.queuedTitles()
        let orders = report.fetch.filter { title, entry in
            guard let (url, state) = queued[title] else { return true }
            return state == .failed || url != entry.reference.url.absoluteString
        }.map { _, entry in
            var options = report.subscription.choices.options
            options.name = entry.name.flatMap(MediaName.cleaned)
            (options.picture, options.published) = (entry.picture, entry.published)
            return (reference: entry.reference, options: options)
        }
        if !orders.isEmpty { try await downloads.add(orders, resumes: false) }
    }
}
