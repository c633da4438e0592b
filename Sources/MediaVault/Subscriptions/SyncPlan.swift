import VaultModel

/// Decides what a sync of a subscription does. It is a value type.
///
/// A sync removes only titles that the subscription added, and none that is pinned or that another subscription wants.
struct SyncPlan: Hashable, Sendable {
    /// How much the vault has of a title.
    struct Held: Hashable, Sendable {
        /// Whether the title is held whole.
        var isWhole = false
        /// Whether the title is downloaded or pinned, and so more than a remnant of playback.
        var isKept = false
        var isPinned = false
    }

    /// How to treat titles that the list no longer names.
    enum Gone: Hashable, Sendable {
        case removed
        /// The titles stay, and belong to the operator from then on.
        case kept
        /// The titles stay until a later run, because a part of the list could not be read and may name them.
        case undecided
    }

    /// The titles to fetch, in the order of the list.
    let fetch: [TitleID]
    /// The titles to remove, in the order of their ids.
    let remove: [TitleID]
    /// The titles that are kept, although the list no longer names them, because they are pinned.
    let pinned: Set<TitleID>
    /// The number of titles to remove once every title that the list names is held whole. They stay until then, because
    /// their replacements may fail to arrive.
    let waiting: Int
    /// The number of titles that the list names and that are already held whole.
    let unchanged: Int
    /// The titles that count as added by the subscription once this plan is carried out.
    let brought: Set<TitleID>

    /// Decides what the sync does.
    ///
    /// - Parameters:
    ///   - wanted: the titles that the list names, in the list's order, each once.
    ///   - held: how much the vault has of these titles, and of those that the subscription added. An absent title is
    ///     not held.
    ///   - subscription: the subscription's state after its last run.
    ///   - others: all other subscriptions.
    ///   - goneTitles: how to treat titles that the list no longer names.
    init(
        wanted: [TitleID], held: [TitleID: Held], subscription: MediaSubscription, others: [MediaSubscription],
        goneTitles: Gone
    ) {
        let (names, former) = (Set(wanted), subscription.brought)
        let broughtByOthers = others.reduce(into: Set<TitleID>()) { $0.formUnion($1.brought) }
        let wantedByOthers = others.reduce(into: Set<TitleID>()) { $0.formUnion($1.wanted) }
        fetch = wanted.filter { held[$0]?.isWhole != true }
        unchanged = wanted.count - fetch.count
        // A title that the operator fetched or pinned earlier does not belong to the subscription.
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
        // If another subscription wants a title, that subscription removes it when it no longer wants it.
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

/// Decides when a service runs a subscription next. Its functions are pure.
enum SyncSchedule {
    /// The maximum delay after repeated failures, and the delay after the first one, in seconds.
    private static let (longestDelay, firstDelay): (Int64, Int64) = (86_400, 300)
    /// The maximum share of the interval that is subtracted at random, so that many subscriptions do not run at once.
    private static let spread = 0.1

    /// Returns when a subscription runs next, in seconds since 1970.
    ///
    /// - Parameters:
    ///   - interval: the number of seconds between two runs.
    ///   - failures: the number of failed runs since the last success.
    ///   - error: why the last run failed; nil if it succeeded. The delay that the origin requested is respected, as
    ///     for every download.
    ///   - chance: a random number from 0 to 1.
    static func next(
        after now: Int64, interval: Int64, failures: Int64, _ error: VaultError? = nil, chance: Double
    ) -> Int64 {
        let delay = failures == 0 ? interval : min(interval, longestDelay, firstDelay << min(failures - 1, 16))
        let asked = error.map { DownloadRetry.wait(askedBy: $0) } ?? 0
        return now + max(asked, delay - Int64(Double(delay) * spread * chance))
    }

    /// Returns the subscriptions that are due.
    static func due(_ subscriptions: [MediaSubscription], at now: Int64) -> [MediaSubscription] {
        subscriptions.filter { subscription in
            guard let interval = subscription.choices.interval, !subscription.isGone else { return false }
            guard let next = subscription.nextRun else { return true }
            // Even after a clock was set back, a subscription waits no longer than its interval, or than an origin may
            // request.
            let longest = subscription.failures > 0 ? max(interval, DownloadRetry.longestWait) : interval
            return next <= now || next - now > longest
        }
    }
}
