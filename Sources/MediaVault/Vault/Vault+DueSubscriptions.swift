package import VaultModel
import VaultStorage

// Scheduled runs of subscriptions, for a service.
extension Vault {
    /// Starts running subscriptions that have an interval, which continues until the vault is closed.
    ///
    /// - Parameter tell: called after each run with the subscription, and with the error if the run failed.
    package func startSubscriptions(_ tell: @escaping @Sendable (Subscription, VaultError?) -> Void) {
        guard store.isOwner else { return }
        subscriptionClock.start { [weak self] in
            await self?.removeReplacedTitles()
            await self?.runDueSubscriptions(tell)
        }
    }

    /// Removes titles that their lists no longer name, once everything that those lists name is held whole.
    func removeReplacedTitles() async {
        for id in subscriptionClock.waiting where !Task.isCancelled {
            // If this fails, the subscription's next run tries again and reports the failure.
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

    /// Runs all subscriptions that are due, if the download queue's hours include the current time.
    func runDueSubscriptions(_ tell: @Sendable (Subscription, VaultError?) -> Void) async {
        guard loaders.environment.mode.current.allowsRequests, await downloads.isWithinHours(),
            let known = try? await subscriptions().subscriptions
        else { return }
        for subscription in SyncSchedule.due(known, at: store.index.now()) where !Task.isCancelled {
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
