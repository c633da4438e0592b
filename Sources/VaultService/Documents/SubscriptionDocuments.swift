package import MediaVault
package import VaultModel

/// A subscription, as `GET /api/v1/subscriptions` and `sync list --json` report it.
package struct SubscriptionDocument: Codable, Hashable, Sendable {
    package let id: String
    /// The name that it was given, or that its feed states; else where it comes from.
    package let name: String
    /// The URL of the feed without credentials and query; null for a list that is given at each run.
    @OrNull package var url: String?
    /// The name of that list; null for a feed.
    @OrNull package var list: String?
    /// How many of the newest titles are wanted; null for all.
    @OrNull package var newest: Int64?
    /// Whether titles stay that the list no longer names.
    package let keep: Bool
    package let contentIDs: Bool
    /// The seconds between two runs by a service; null if it runs by hand only.
    @OrNull package var every: Int64?
    /// How many titles the list named in the last run.
    package let titles: Int
    package let added: Timestamp
    @OrNull package var lastRun: Timestamp?
    @OrNull package var nextRun: Timestamp?
    /// Why the last run failed; null if it did not.
    @OrNull package var problem: String?
    /// Where the feed went for good, without credentials and query; null if it is where ``url`` says.
    @OrNull package var movedTo: String?
    /// Whether the feed is gone for good, so that no service asks for it.
    package let gone: Bool

    init(_ subscription: Subscription) {
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
        problem = subscription.failure?.message
    }
}

/// The subscriptions of a vault.
package struct SubscriptionsDocument: Codable, Sendable {
    package let subscriptions: [SubscriptionDocument]
    /// How many cannot be read.
    package let damaged: Int
}

/// The body of `POST /api/v1/subscriptions`: a source, and what of its titles is fetched and kept.
package struct SubscriptionOrder: Codable, Sendable {
    /// The URL of a feed; or else ``list``.
    let url: String?
    /// The name of a list that is given at each run.
    let list: String?
    let name: String?
    let newest: Int64?
    let keep: Bool?
    let contentIDs: Bool?
    let every: Int64?
    let video: RenditionSelection.Video?
    let audio: RenditionSelection.Audio?
    let subtitles: RenditionSelection.Subtitles?
    /// Whether what is no media is fetched, too.
    let anyType: Bool?
    /// Whether a source that is new is added without being read first.
    let untried: Bool?

    package init(_ source: Subscription.Source, _ choices: Subscription.Choices, isUntried: Bool = false) {
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

    /// - Throws: ``VaultError`` with code `invalidArgument` unless exactly one of url and list is given.
    package var source: Subscription.Source {
        get throws {
            switch (url, list) {
            case (let url?, nil): return .feed(url)
            case (nil, let list?) where (1...Self.maxListName).contains(list.utf8.count): return .list(list)
            default:
                throw VaultError(.invalidArgument, "the request must have either url or list; give one of them")
            }
        }
    }

    package var choices: Subscription.Choices {
        var choices = Subscription.Choices()
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
    /// The id of a subscription; or else ``source``.
    var id: String?
    var source: SubscriptionOrder?
    /// What the list names, if it is given with the request.
    var entries: [SyncEntryRequest]?
    /// How many lines of the list cannot be used; then nothing is removed.
    var unusable: Int?
    var dryRun: Bool?

    /// The most lines of a list that are counted as unusable.
    private static let maxUnusable = 1_000_000

    /// How many lines of the list cannot be used.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the number is impossible.
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

    /// Runs a subscription.
    package init(id: String, isDryRun: Bool) {
        self.id = id
        dryRun = isDryRun ? true : nil
    }

    /// Runs a source once.
    ///
    /// - Parameter list: what it names, and how many lines cannot be used; nil for a feed.
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

/// The name of an entry of a list.
struct NameOfEntry: Codable, Sendable {
    let name: String?
}

/// What a sync did, or would do.
package struct SyncDocument: Codable, Sendable {
    /// A title that a sync fetches or removes.
    package struct Item: Codable, Hashable, Sendable {
        package let id: TitleID
        /// Its name, else its URL.
        package let name: String
        /// Why it could not be fetched or removed.
        @OrNull package var problem: String? = nil
    }

    package let subscription: SubscriptionDocument
    /// Whether the feed has moved for good since the run before; nil from a service that does not say so yet.
    package let moved: Bool?
    /// The titles that are fetched: a service has them in its download queue.
    package var fetched: [Item]
    package var removed: [Item]
    /// How many titles are as the list wants them.
    package let unchanged: Int
    /// How many titles stay although the list no longer names them, because they are pinned.
    package let pinned: Int
    /// How many titles that the list no longer names are removed once everything that it names is whole.
    package var waiting: Int
    /// How many entries of the list cannot be used; then nothing is removed.
    package var unusable: Int
    /// Why the feed may name more than was read; then nothing is removed. Null if it does not.
    @OrNull package var problem: String?
    /// What of the feed was read although it is not as it should be, in a few words each.
    package var repairs: [String]

    /// Creates the document for what a sync did.
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

/// How many titles went with a subscription.
package struct UnsubscribedDocument: Codable, Hashable, Sendable {
    package let removed: Int
}
