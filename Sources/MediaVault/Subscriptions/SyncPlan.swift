import VaultModel

/// What a sync of a subscription does: a value.
///
/// It removes only what the subscription brought, and nothing that is pinned or that another subscription wants.
struct SyncPlan: Hashable, Sendable {
    /// What the vault has of a title.
    struct Held: Hashable, Sendable {
        /// Whether everything of it is held.
        var isWhole = false
        /// Whether it is more than what a player left behind: a download, or pinned.
        var isKept = false
        var isPinned = false
    }

    /// What becomes of titles that the list no longer names.
    enum Gone: Hashable, Sendable {
        case removed
        /// They stay, and are the operator's from now on.
        case kept
        /// They stay for now: something of the list could not be read, and may name them.
        case undecided
    }

    /// The titles to fetch, in the order of the list.
    let fetch: [TitleID]
    /// The titles to remove, in the order of their ids.
    let remove: [TitleID]
    /// The titles that stay although the list no longer names them: they are pinned.
    let pinned: Set<TitleID>
    /// How many titles go once everything is whole that the list names: what takes their place may fail to come.
    let waiting: Int
    /// The titles that the list names and that are whole.
    let unchanged: Int
    /// What the subscription has brought, when all of this is done.
    let brought: Set<TitleID>

    /// Decides what to do.
    ///
    /// - Parameters:
    ///   - wanted: the titles that the list names, in its order, each once.
    ///   - held: what the vault has of them, and of those that the subscription brought; what is absent is not held.
    ///   - subscription: the state after the last run.
    ///   - others: all other subscriptions.
    ///   - goneTitles: what becomes of titles that the list no longer names.
    init(
        wanted: [TitleID], held: [TitleID: Held], subscription: Subscription, others: [Subscription],
        goneTitles: Gone
    ) {
        let (names, former) = (Set(wanted), subscription.brought)
        let broughtByOthers = others.reduce(into: Set<TitleID>()) { $0.formUnion($1.brought) }
        let wantedByOthers = others.reduce(into: Set<TitleID>()) { $0.formUnion($1.wanted) }
        fetch = wanted.filter { held[$0]?.isWhole != true }
        unchanged = wanted.count - fetch.count
        // What the operator had fetched or pinned before is not the subscription's.
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
        // Another subscription wants it, and removes it in its turn.
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
    /// The longest time until the next try after a failure, and the time until the first, in seconds.
    private static let (longestDelay, firstDelay): (Int64, Int64) = (86_400, 300)
    /// The part of the interval that chance may take away, so that many subscriptions do not run in one instant.
    private static let spread = 0.1

    /// Returns when a subscription runs next, in seconds since 1970.
    ///
    /// - Parameters:
    ///   - interval: the seconds between two runs.
    ///   - failures: how often it failed since it last succeeded.
    ///   - error: why it failed last; nil if it did not. What its origin asked for is kept, as for every download.
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
            // A clock that was set back makes nothing wait for longer than its interval, or than an origin may ask for.
            let longest = subscription.failures > 0 ? max(interval, DownloadRetry.longestWait) : interval
            return next <= now || next - now > longest
        }
    }
}
