package import VaultModel
import VaultStorage

// The scheduled runs of a service.
extension Vault {
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

    /// Removes titles that lists no longer name, once everything that those lists name is held.
    func removeReplacedTitles() async {
        for id in subscriptionClock.waiting where !Task.isCancelled {
            // After a failure, the next run tries again and reports it.
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
        var removals: [SyncReport.Removal] = []
        for title in plan.remove { removals.append(try await removal(of: title)) }
        subscription.brought = plan.brought.union(removals.filter { $0.error != nil }.map(\.title))
        try await write(subscription)
        subscriptionClock.note(id, isWaiting: removals.contains { $0.error != nil })
    }

    /// Runs all due subscriptions, during the hours of the download queue.
    func runDueSubscriptions(_ tell: @Sendable (Subscription, VaultError?) -> Void) async {
        guard loaders.environment.mode.current.allowsRequests, await downloads.isWithinHours(),
            let known = try? await subscriptions().subscriptions
        else { return }
        for subscription in SyncSchedule.due(known, at: store.now()) where !Task.isCancelled {
            do {
                let report = try await sync(subscription.shortID, queues: true)
                tell(report.subscription, report.failure)
            } catch let error as VaultError {
                tell(subscription, error)
            } catch {
                return
            }
        }
    }
}
