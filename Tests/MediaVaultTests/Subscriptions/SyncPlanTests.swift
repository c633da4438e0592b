import Testing
import VaultModel

@testable import MediaVault

@Suite("The plan of a sync")
struct SyncPlanTests {
    private let a: TitleID
    private let b: TitleID
    private let c: TitleID
    private let id: SubscriptionID

    init() throws {
        a = try #require(TitleID("aaaaaaaa"))
        b = try #require(TitleID("bbbbbbbb"))
        c = try #require(TitleID("cccccccc"))
        id = try #require(SubscriptionID(bytes: Array(repeating: 1, count: 16)))
    }

    private func followed(_ wanted: Set<TitleID> = [], brought: Set<TitleID> = []) -> MediaSubscription {
        var subscription = MediaSubscription(id, .list("a"), MediaSubscription.Choices(), added: 0)
        (subscription.wanted, subscription.brought) = (wanted, brought)
        return subscription
    }

    private func planned(
        _ wanted: [TitleID], held: [TitleID: SyncPlan.Held] = [:], brought: Set<TitleID> = [],
        others: [MediaSubscription] = [], gone: SyncPlan.Gone = .removed
    ) -> SyncPlan {
        SyncPlan(
            wanted: wanted, held: held, subscription: followed(brought: brought), others: others, goneTitles: gone)
    }

    private static let whole = SyncPlan.Held(isWhole: true, isKept: true)
    private static let pinned = SyncPlan.Held(isWhole: true, isKept: true, isPinned: true)

    @Test("What is not whole is fetched in the order of the list, and what is whole is left alone")
    func fetch() {
        let plan = planned([c, a, b], held: [a: Self.whole, b: SyncPlan.Held()])
        #expect(plan.fetch == [c, b] && plan.unchanged == 1 && plan.remove.isEmpty)
    }

    @Test("Only what the subscription brought is removed once the list no longer names it")
    func remove() {
        let held = [a: Self.whole, b: Self.whole, c: Self.whole]
        let plan = planned([a], held: held, brought: [a, b])
        #expect(plan.remove == [b] && plan.brought == [a])
    }

    @Test("What the operator had before is not the subscription's, and what a player left behind is")
    func ownership() {
        let played = SyncPlan.Held(isWhole: false, isKept: false)
        let plan = planned([a, b, c], held: [a: Self.whole, b: played])
        #expect(plan.brought == [b, c])
        #expect(planned([], held: [a: Self.whole], brought: plan.brought).remove == [b, c])
    }

    @Test("A pinned title stays, and stays the subscription's, so that it goes when it is unpinned")
    func pinning() {
        let plan = planned([a], held: [a: Self.whole, b: Self.pinned], brought: [a, b])
        #expect(plan.remove.isEmpty && plan.pinned == [b] && plan.brought == [a, b])
        #expect(planned([a], held: [a: Self.whole, b: Self.whole], brought: plan.brought).remove == [b])
    }

    @Test("Nothing is removed before everything that the list names is whole, and it stays the subscription's")
    func firstHave() {
        let held = [a: Self.whole, b: Self.whole]
        let plan = planned([b, c], held: held, brought: [a, b])
        #expect(plan.fetch == [c] && plan.remove.isEmpty && plan.waiting == 1 && plan.brought == [a, b, c])
        let broken = planned([b, c], held: held.merging([c: SyncPlan.Held()]) { $1 }, brought: plan.brought)
        #expect(broken.remove.isEmpty && broken.waiting == 1)
        let whole = planned([b, c], held: held.merging([c: Self.whole]) { $1 }, brought: plan.brought)
        #expect(whole.remove == [a] && whole.waiting == 0 && whole.brought == [b, c])
    }

    @Test("A title that two subscriptions name goes only when both no longer name it")
    func shared() {
        let held = [a: Self.whole]
        let first = followed([a], brought: [a])
        let second = planned([a], held: held, others: [first])
        #expect(second.fetch.isEmpty && second.brought == [a])
        let other = followed([a], brought: second.brought)
        let dropped = planned([b], held: held, brought: [a], others: [other])
        #expect(dropped.remove.isEmpty && dropped.brought == [b])
        #expect(planned([], held: held, brought: other.brought, others: [followed()]).remove == [a])
    }

    @Test(
        "What is kept is the operator's from then on, and what cannot be decided stays the subscription's",
        arguments: [SyncPlan.Gone.kept, .undecided])
    func keep(gone: SyncPlan.Gone) {
        let plan = planned([a], held: [b: Self.whole], brought: [b], gone: gone)
        #expect(plan.remove.isEmpty && plan.pinned.isEmpty && plan.brought == (gone == .kept ? [a] : [a, b]))
    }

    @Test("The next run is an interval away, a little less by chance, and sooner after a failure")
    func schedule() {
        let next = { (failures: Int64, chance: Double) in
            SyncSchedule.next(after: 1000, interval: 21_600, failures: failures, chance: chance)
        }
        #expect(next(0, 0) == 22_600 && next(0, 1) == 20_440)
        #expect(next(1, 0) == 1300 && next(2, 0) == 1600 && next(20, 0) == 22_600)
        #expect(SyncSchedule.next(after: 0, interval: 31_536_000, failures: 99, chance: 0) == 86_400)
    }

    @Test("Due is what has an interval and whose time has come, or lies further away than its interval")
    func due() {
        let due = { (interval: Int64?, next: Int64?) in
            var subscription = followed()
            (subscription.choices.interval, subscription.nextRun) = (interval, next)
            return !SyncSchedule.due([subscription], at: 10_000).isEmpty
        }
        #expect(due(600, nil) && due(600, 10_000) && due(600, 10_601))
        #expect(!due(600, 10_001) && !due(nil, nil) && !due(nil, 5))
    }
}
