package import MediaVault
package import VaultModel

/// A subscription, as `GET /api/v1/subscriptions` and `sync list --json` report it.
package struct SubscriptionDocument: Codable, Hashable, Sendable {
    package let id: String
    /// The name that the operator chose, else the name that the feed states, else the source.
    package let name: String
    /// The feed's URL without credentials or query; null for a list, whose entries are supplied for each run.
    @OrNull package var url: String?
    /// The name of the list; null for a feed.
    @OrNull package var list: String?
    /// The number of newest titles to fetch; null for all titles.
    @OrNull package var newest: Int64?
    /// Whether to keep titles that the list no longer names.
    package let keep: Bool
    package let contentIDs: Bool
    /// The number of seconds between a service's runs; null if the subscription is run only by hand.
    @OrNull package var every: Int64?
    /// The number of titles that the feed or list named in the last run.
    package let titles: Int
    package let added: Timestamp
    @OrNull package var lastRun: Timestamp?
    @OrNull package var nextRun: Timestamp?
    /// Why the last run failed; null if it succeeded.
    @OrNull package var problem: String?
    /// The name of the ``VaultError`` code of that failure; nil if there is none, or an earlier service answers.
    package var problemCode: String?
    /// The URL to which the feed has moved permanently, without credentials or query; null if it is still at ``url``.
    @OrNull package var movedTo: String?
    /// Whether the feed is gone permanently, so that services no longer request it.
    package let gone: Bool

    init(_ subscription: MediaSubscription) {
        let choices = subscription.choices
        (id, name, titles) = (subscription.shortID, subscription.shownName, subscription.wanted.count)
        switch subscription.source {
        case .feed: (url, list) = (subscription.place, nil)
        case .list(let name): (url, list) = (nil, name)
        }
        (newest, keep, contentIDs) = (choices.newest, choices.keepsGone, choices.usesContentIDs)
        every = choices.interval
        added = Timestamp(seconds: subscription.added)
        lastRun = subscription.lastRun.map { Timestamp(seconds: $0) }
        gone = subscription.isGone
        movedTo = subscription.movedTo.flatMap { try? MediaURL($0) }?.description
        nextRun = choices.interval == nil || gone ? nil : subscription.nextRun.map { Timestamp(seconds: $0) }
        (problem, problemCode) = (subscription.failure?.message, subscription.failure?.code)
    }
}

/// The subscriptions of a vault.
package struct SubscriptionsDocument: Codable, Sendable {
    package let subscriptions: [SubscriptionDocument]
    /// The number of subscription records that cannot be read.
    package let damaged: Int
}

/// The body of `POST /api/v1/subscriptions`: a source, and the choice of its titles to fetch and keep.
package struct SubscriptionOrder: Codable, Sendable {
    /// The URL of a feed; the alternative is ``list``.
    let url: String?
    /// The name of a list whose entries are supplied for each run.
    let list: String?
    let name: String?
    let newest: Int64?
    let keep: Bool?
    let contentIDs: Bool?
    let every: Int64?
    let video: RenditionSelection.Video?
    let audio: RenditionSelection.Audio?
    let subtitles: RenditionSelection.Subtitles?
    /// Whether to fetch content even if it is not media.
    let anyType: Bool?
    /// Whether to add a new subscription without first reading its source.
    let untried: Bool?

    package init(_ source: MediaSubscription.Source, _ choices: MediaSubscription.Choices, isUntried: Bool = false) {
        untried = isUntried ? true : nil
        switch source {
        case .feed(let url): (self.url, list) = (url, nil)
        case .list(let name): (url, list) = (nil, name)
        }
        (name, newest, every) = (choices.name, choices.newest, choices.interval)
        (keep, contentIDs, anyType) = (choices.keepsGone, choices.usesContentIDs, choices.takesAnyType)
        video = choices.video.flatMap { RenditionSelection.Video(rawValue: $0) }
        audio = choices.audio.flatMap { RenditionSelection.Audio(rawValue: $0) }
        subtitles = choices.subtitles.flatMap { RenditionSelection.Subtitles(rawValue: $0) }
    }

    private static let maxListName = 4096

    /// - Throws: ``VaultError`` with code `invalidArgument` unless the request has exactly one of `url` and `list`, or
    ///   if the name of the list is empty or too long.
    package var source: MediaSubscription.Source {
        get throws {
            switch (url, list) {
            case (let url?, nil): return .feed(url)
            case (nil, let list?) where (1...Self.maxListName).contains(list.utf8.count): return .list(list)
            default:
                throw VaultError(.invalidArgument, "the request must have either url or list; give one of them")
            }
        }
    }

    package var choices: MediaSubscription.Choices {
        var choices = MediaSubscription.Choices()
        (choices.name, choices.newest, choices.interval) = (name, newest, every)
        choices.keepsGone = keep ?? false
        choices.usesContentIDs = contentIDs ?? false
        choices.takesAnyType = anyType ?? false
        (choices.video, choices.audio, choices.subtitles) = (video?.rawValue, audio?.rawValue, subtitles?.rawValue)
        return choices
    }
}

/// The body of `POST /api/v1/syncs`: a subscription to run, or a source to run once.
package struct SyncOrder: Codable, Sendable {
    /// The id of a subscription; the alternative is ``source``.
    var id: String?
    var source: SubscriptionOrder?
    /// The list's entries, if the request supplies the list.
    var entries: [SyncEntryRequest]?
    /// The number of unusable lines in the list. If there are any, the run removes nothing.
    var unusable: Int?
    var dryRun: Bool?

    /// The maximum number of unusable lines in a list.
    private static let maxUnusable = 1_000_000

    /// The number of unusable lines in the list.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the number is out of bounds.
    var checkedUnusable: Int {
        get throws {
            let count = unusable ?? 0
            guard (0...Self.maxUnusable).contains(count) else {
                throw VaultError(
                    .invalidArgument, "the body's unusable must be between 0 and \(Self.maxUnusable)")
            }
            return count
        }
    }

    /// Creates a request to run a subscription.
    package init(id: String, isDryRun: Bool) {
        self.id = id
        dryRun = isDryRun ? true : nil
    }

    /// Creates a request to run a source once.
    ///
    /// - Parameter list: the list's entries, and the number of its unusable lines; nil for a feed.
    package init(
        _ source: SubscriptionOrder, list: (entries: [SyncEntry], unusable: Int)?, isDryRun: Bool
    ) {
        self.source = source
        entries = list?.entries.map { SyncEntryRequest($0.reference, NameOfEntry(name: $0.name)) }
        unusable = list.flatMap { $0.unusable == 0 ? nil : $0.unusable }
        dryRun = isDryRun ? true : nil
    }
}

/// A title that a list names.
typealias SyncEntryRequest = ResourceRequest<NameOfEntry>

/// The name of a list entry.
struct NameOfEntry: Codable, Sendable {
    let name: String?
}

/// The result of a sync, or of a dry run.
package struct SyncDocument: Codable, Sendable {
    /// A title that a sync fetches or removes.
    package struct Item: Codable, Hashable, Sendable {
        package let id: TitleID
        /// The title's name, else its URL.
        package let name: String
        /// Why the title could not be fetched or removed.
        @OrNull package var problem: String? = nil
    }

    package let subscription: SubscriptionDocument
    /// Whether the feed has moved permanently since the previous run; nil from a service too old to report it.
    package let moved: Bool?
    /// The titles to fetch. A service has put them into its download queue.
    package var fetched: [Item]
    package var removed: [Item]
    /// The number of titles that already match the list.
    package let unchanged: Int
    /// The number of titles that the list no longer names, but that stay because they are pinned.
    package let pinned: Int
    /// The number of titles that the list no longer names, and that will be removed once all titles that it does name
    /// are complete.
    package var waiting: Int
    /// The number of unusable list entries. If there are any, the sync removes nothing.
    package var unusable: Int
    /// Why the sync may have read only part of the feed, in which case it removes nothing; null if it read the whole
    /// feed.
    @OrNull package var problem: String?
    /// The faults that were repaired while reading the feed, each described in a few words.
    package var repairs: [String]

    /// Creates the document for a sync's report.
    package init(_ report: SyncReport) {
        (subscription, moved) = (SubscriptionDocument(report.subscription), report.hasMoved)
        fetched = report.fetch.map { Item(id: $0.title, name: $0.entry.shownName) }
        removed = report.removals.map {
            Item(id: $0.title, name: $0.name ?? "\($0.title)", problem: $0.error?.message)
        }
        (unchanged, pinned, waiting) = (report.unchanged, report.pinned, report.waiting)
        (unusable, repairs, problem) = (report.unusable, report.repairs, report.pageFailure?.message)
    }
}

extension SyncEntry {
    /// The name that the list states, else the URL without its query.
    package var shownName: String { name ?? "\(reference.url)" }
}

/// The number of titles that were removed with a subscription.
package struct UnsubscribedDocument: Codable, Hashable, Sendable {
    package let removed: Int
}
