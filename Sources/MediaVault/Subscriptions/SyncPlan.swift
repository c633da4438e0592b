import VaultModel

/// What a sync of a subscription does: a value.
///
/// It removes only what the subscription brought, and nothing that is pinned or that another subscription wants.
struct SyncPlan: Hashable, Sendable {
    /// What the vault has of a title.
    struct Held: Hashable, Sendable {
        /// Whether everything of it is held.
        var isWhole = false
        /// Whether it is more than a remnant of playback: downloaded or pinned.
        var isKept = false
        var isPinned = false
    }

    /// What to do with titles that the list no longer names.
    enum Gone: Hashable, Sendable {
        case removed
        /// They stay, and belong to the operator from then on.
        case kept
        /// They stay until a later run: something in the list could not be read, and may name them.
        case undecided
    }

    /// The titles to fetch, in the order of the list.
    let fetch: [TitleID]
    /// The titles to remove, in the order of their ids.
    let remove: [TitleID]
    /// The titles that stay although the list no longer names them, because they are pinned.
    let pinned: Set<TitleID>
    /// The number of titles to remove once everything that the list names is held whole: their replacements may fail to
    /// arrive.
    let waiting: Int
    /// The number of titles that the list names and that are held whole.
    let unchanged: Int
    /// The titles that count as brought by the subscription once all of this is done.
    let brought: Set<TitleID>

    /// Decides what to do.
    ///
    /// - Parameters:
    ///   - wanted: the titles that the list names, in its order, each once.
    ///   - held: what the vault has of these, and of the titles that the subscription brought; absent ones are not
    ///     held.
    ///   - subscription: the state after the last run.
    ///   - others: all other subscriptions.
    ///   - goneTitles: what to do with titles that the list no longer names.
    init(
        wanted: [TitleID], held: [TitleID: Held], subscription: Subscription, others: [Subscription],
        goneTitles: Gone
    ) {
        let (names, former) = (Set(wanted), subscription.brought)
        let broughtByOthers = others.reduce(into: Set<TitleID>()) { $0.formUnion($1.brought) }
        let wantedByOthers = others.reduce(into: Set<TitleID>()) { $0.formUnion($1.wanted) }
        fetch = wanted.filter { held[$0]?.isWhole != true }
        unchanged = wanted.count - fetch.count
        // What the operator fetched or pinned earlier does not belong to the subscription.
        let isOurs = { (title: TitleID) in
            former.contains(title) || broughtByOthers.contains(title) || held[title]?.isKept != true
        }
        let gone = former.subtracting(names)
        let ours = names.filter(isOurs)
        guard goneTitles == .removed else {
            (remove, pinned, waiting) = ([], [], 0)
            brought = goneTitles == .kept ? ours : ours.union(gone)
            return
        }
        // Another subscription wants it, and will remove it when it no longer does.
        let left = gone.subtracting(wantedByOthers)
        pinned = left.filter { held[$0]?.isPinned == true }
        let leaving = left.subtracting(pinned)
        guard fetch.isEmpty else {
            (remove, waiting) = ([], leaving.count)
            brought = ours.union(left)
            return
        }
        (remove, waiting) = (leaving.sorted { $0.description < $1.description }, 0)
        brought = ours.union(pinned)
    }
}

/// When a service runs a subscription next: pure functions.
enum SyncSchedule {
    /// The maximum delay after repeated failures, and the delay after the first one, in seconds.
    private static let (longestDelay, firstDelay): (Int64, Int64) = (86_400, 300)
    /// The share of the interval that chance may take away, so that many subscriptions do not run at the same instant.
    private static let spread = 0.1

    /// Returns when a subscription runs next, in seconds since 1970.
    ///
    /// - Parameters:
    ///   - interval: the seconds between two runs.
    ///   - failures: how often it has failed since it last succeeded.
    ///   - error: why it failed last; nil if it did not. The delay that its origin requested is kept, as for every
    ///     download.
    ///   - chance: a random number from 0 to 1.
    static func next(
        after now: Int64, interval: Int64, failures: Int64, _ error: VaultError? = nil, chance: Double
    ) -> Int64 {
        let delay = failures == 0 ? interval : min(interval, longestDelay, firstDelay << min(failures - 1, 16))
        let asked = error.map { DownloadRetry.wait(askedBy: $0) } ?? 0
        return now + max(asked, delay - Int64(Double(delay) * spread * chance))
    }

    /// Returns the subscriptions that are due.
    static func due(_ subscriptions: [Subscription], at now: Int64) -> [Subscription] {
        subscriptions.filter { subscription in
            guard let interval = subscription.choices.interval, !subscription.isGone else { return false }
            guard let next = subscription.nextRun else { return true }
            // Even after a clock was set back, nothing waits longer than its interval, or than an origin may request.
            let longest = subscription.failures > 0 ? max(interval, DownloadRetry.longestWait) : interval
            return next <= now || next - now > longest
        }
    }
}
