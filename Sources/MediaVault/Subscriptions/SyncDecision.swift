import VaultCache
import VaultManifest
import VaultModel
import VaultStorage

// Decides what a sync does, from the titles that the list names and those that the vault has.
extension Subscriptions {
    /// Decides what a sync does, and records in the subscription what the list names.
    func decide(_ subscription: inout MediaSubscription, _ list: SyncList) async throws -> SyncReport {
        let newest = subscription.choices.newest.map { Int($0) }
        let entries: [SyncEntry]
        var passedOver: [SyncEntry] = []
        var unusable: Int
        var repairs = FeedRepairs()
        var mayHideTitles = false
        let former = subscription.movedTo
        var pageFailure: VaultError?
        switch list {
        case .given(let given, let count):
            // A number that an app gives must not make up for an entry that is found to be unusable.
            (entries, unusable) = (given, min(max(0, count), MediaSubscription.maxTitles))
        case .feed(let answer):
            let place = subscription.choices.usesContentIDs ? loaders.environment.names.feedPlace(answer.url) : nil
            let entry = { SyncEntry($0, reach: answer.reach, namedWithin: place) }
            entries = answer.feed.entries(underLimit: newest).map(entry)
            passedOver = answer.feed.passedOver.map(entry)
            (unusable, repairs) = (answer.feed.unusable, answer.feed.repairs)
            if place != nil { repairs.count(.sharedName, answer.feed.sharedNames) }
            (pageFailure, subscription.movedTo) = (answer.failure, answer.movedTo?.absoluteString)
            mayHideTitles = pageFailure != nil || repairs.mayHideEntries || place != nil && answer.feed.sharedNames > 0
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
        // A title counts only once, even if the list names it several times.
        var left = newest ?? .max
        for entry in entries where left > 0 {
            let title = try await usableTitle(of: entry)
            if let title, !known.insert(title).inserted { continue }
            left -= 1
            if let title { wanted.append((title, entry)) } else { unusable += 1 }
        }
        // A title is not gone merely because the list, which named it as media, now states another type for it.
        for entry in passedOver {
            guard let title = try await usableTitle(of: entry), subscription.brought.contains(title) else { continue }
            unusable += 1
        }
        let most = MediaSubscription.Choices.counts.upperBound
        guard wanted.count <= most else {
            throw VaultError(
                .invalidArgument,
                "a list may name \(most) titles; take the newest alone, or split it into several lists")
        }
        let (all, damaged) = try await all()
        // An unreadable entry may name any title, and an unreadable subscription may want any title. A name that
        // several entries share once belonged to one of them.
        let namesAll = unusable == 0 && !mayHideTitles
        let isDecided = namesAll && damaged == 0
        let plan = SyncPlan(
            wanted: wanted.map(\.title), held: try await held(known.union(subscription.brought)),
            subscription: subscription, others: all.filter { $0.id != subscription.id },
            goneTitles: subscription.choices.keepsGone ? .kept : isDecided ? .removed : .undecided)
        subscription.wanted = namesAll ? known : known.union(subscription.wanted)
        subscription.brought = plan.brought
        guard max(subscription.wanted.count, subscription.brought.count) <= MediaSubscription.maxTitles else {
            throw VaultError(
                .invalidArgument,
                "\(subscription.place) has brought too many titles that it no longer names; correct its entries, or "
                    + "remove the subscription")
        }
        var report = SyncReport(subscription: subscription)
        let missing = Set(plan.fetch)
        report.fetch = wanted.filter { missing.contains($0.title) }
        for title in plan.remove {
            report.removals.append(SyncReport.Removal(title: title, name: try await name(of: title)))
        }
        (report.unchanged, report.pinned, report.waiting) = (plan.unchanged, plan.pinned.count, plan.waiting)
        (report.unusable, report.repairs, report.pageFailure) = (unusable, repairs.texts, pageFailure)
        report.hasMoved = subscription.movedTo != nil && subscription.movedTo != former
        return report
    }

    /// Returns the title id of an entry; nil if the entry cannot be requested.
    private func usableTitle(of entry: SyncEntry) async throws -> TitleID? {
        do {
            return try await titles.titleID(of: entry.reference)
        } catch let error as VaultError where [.invalidArgument, .invalidURL, .notHeld].contains(error.code) {
            return nil
        }
    }

    /// Returns how much the vault has of each title. Titles that are neither known to the vault nor queued are absent.
    func held(_ wanted: Set<TitleID>) async throws -> [TitleID: SyncPlan.Held] {
        var held: [TitleID: SyncPlan.Held] = [:]
        let queued = try await downloads.queuedTitles()
        for title in wanted {
            // A title that the operator has queued belongs to the operator, even before any of its bytes are held.
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
            return try await titles.summary(of: titles.reference(of: title))
        } catch let error as VaultError where [.notHeld, .invalidArgument].contains(error.code) {
            // In the rare case that two titles share an id, neither is changed.
            return nil
        }
    }

    private func name(of title: TitleID) async throws -> String? {
        try await summary(ofTitle: title).map { $0.name ?? (try? MediaURL($0.url))?.description ?? "\(title)" }
    }

    /// Removes a title from the vault and from the download queue, and reports the removal.
    func removal(of title: TitleID) async throws -> SyncReport.Removal {
        let name = try await name(of: title)
        do {
            if name == nil {
                try await downloads.forget(title)
            } else {
                try await titles.remove(titles.reference(of: title))
            }
            return SyncReport.Removal(title: title, name: name)
        } catch let error as VaultError where error.code == .notHeld {
            return SyncReport.Removal(title: title, name: name)
        } catch let error as VaultError where error.code != .closed {
            return SyncReport.Removal(title: title, name: name, error: error)
        }
    }
}
