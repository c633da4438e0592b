import VaultModel

/// Titles that belong together, in the order in which people play them.
public struct TitleCollection: Sendable {
    /// The id: 16 hex digits that reveal nothing about where the titles came from. It changes with the
    /// locator, from which the ids of resources are derived.
    public let id: String
    /// What makes the titles belong together.
    public let kind: CollectionKind
    /// The name; nil if nothing names the collection.
    public let name: String?
    /// Whether ``name`` is that of a folder or of a feed's address, so that viewers do not see it.
    public let isNamedByOrigin: Bool
    /// The titles, in their order; never empty.
    public let titles: [ResourceSummary]
    let key: CollectionKey

    /// The number of digits in an id.
    static let idLength = 16
}

/// Groups titles into collections. Nothing is read or written.
struct TitleGrouping: Sendable {
    /// A feed or list that the vault follows.
    struct Feed: Sendable {
        let id: SubscriptionID
        /// The name that the owner or the feed states; nil if neither does.
        let name: String?
        /// The address or the file, without credentials or a query.
        let place: String
        let titles: Set<TitleID>

        init(_ subscription: MediaSubscription) {
            (id, place) = (subscription.id, subscription.place)
            name = subscription.choices.name ?? subscription.statedName
            titles = subscription.titles
        }
    }

    private let feeds: [SubscriptionID: Feed]
    private let feedOfTitle: [TitleID: SubscriptionID]

    /// - Parameter subscriptions: all subscriptions, the oldest first. A title of several belongs to the oldest.
    init(_ subscriptions: [MediaSubscription]) {
        let feeds = subscriptions.map(Feed.init)
        self.feeds = Dictionary(feeds.map { ($0.id, $0) }) { first, _ in first }
        feedOfTitle = Dictionary(feeds.flatMap { feed in feed.titles.map { ($0, feed.id) } }) { first, _ in first }
    }

    /// Returns the key of the collection to which a title belongs; nil if it belongs to none.
    func key(of title: ResourceSummary) -> CollectionKey? {
        CollectionKey(of: title, in: title.id.flatMap { feedOfTitle[$0] })
    }

    /// Returns the collections of some titles, in the order of their names.
    ///
    /// One title alone is a collection only if a feed names it or the owner moved it, because more may come, or if the
    /// collection is shared or has a rule, so that the owner can end that.
    ///
    /// - Parameters:
    ///   - titles: the titles.
    ///   - kept: the marks of the collections that are shared with viewers or have a rule.
    ///   - id: returns the id of the collection with a key.
    func collections(
        of titles: [ResourceSummary], keeping kept: Set<CollectionMark>, id: (CollectionKey) -> String
    ) -> [TitleCollection] {
        var groups: [CollectionKey: [ResourceSummary]] = [:]
        for title in titles { if let key = key(of: title) { groups[key, default: []].append(title) } }
        let collections = groups.compactMap { key, titles -> TitleCollection? in
            guard titles.count > 1 || key.kind == .own || key.kind == .feed || kept.contains(key.mark) else {
                return nil
            }
            let titles = TitleOrder.sorted(titles, of: key.kind)
            let (name, isNamedByOrigin) = name(of: key, titles)
            return TitleCollection(
                id: id(key), kind: key.kind, name: name, isNamedByOrigin: isNamedByOrigin,
                titles: titles, key: key)
        }
        return collections.map { (NaturalOrder.comparable($0.name ?? ""), $0) }
            .sorted { ($0.0, $0.1.id) < ($1.0, $1.1.id) }.map(\.1)
    }

    /// The marks of the feeds, which stay shared even without a title.
    var marksOfFeeds: Set<CollectionMark> {
        Set(feeds.keys.map { CollectionKey(kind: .feed, text: $0.hex).mark })
    }

    private func name(of key: CollectionKey, _ titles: [ResourceSummary]) -> (String?, isOfOrigin: Bool) {
        if let given = titles.lazy.compactMap(\.collectionName).first, key.kind != .own { return (given, false) }
        switch key.kind {
        case .own: return (titles.first?.collection, false)
        case .feed:
            let feed = feeds.values.first { $0.id.hex == key.text }
            return feed.map { ($0.name ?? $0.place, $0.name == nil) } ?? (nil, false)
        case .series: return (titles.first?.tags?.series, false)
        case .album: return (titles.first?.tags?.album, false)
        case .folder: return (key.folderName, true)
        }
    }
}

/// The order of the titles of a collection: by season and episode, then by disc and track, then by name. A title that
/// states no number comes after those that do, in the order in which the vault got them. Those of a feed that says when
/// they were published are in that order.
enum TitleOrder {
    static func sorted(_ titles: [ResourceSummary], of kind: CollectionKind) -> [ResourceSummary] {
        titles.map { (place(of: $0, in: kind), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }

    private struct Place: Comparable {
        let numbers: [Int64]
        let name: String

        static func < (one: Place, other: Place) -> Bool {
            one.numbers == other.numbers ? one.name < other.name : one.numbers.lexicographicallyPrecedes(other.numbers)
        }
    }

    private static func place(of title: ResourceSummary, in kind: CollectionKind) -> Place {
        let tags = title.tags ?? TitleTags()
        let number = tags.episode ?? tags.track
        // Episode 0 of a series is the one before the first.
        let numbers = [tags.episode.map { _ in tags.season ?? 1 } ?? tags.disc ?? 1, number ?? .max].map(Int64.init)
        let shown = title.name ?? title.fallbackName ?? ""
        let published = kind == .feed ? title.published.map { [0, $0] } : nil
        return Place(
            numbers: published ?? (number == nil ? [.max, title.added.seconds] : numbers),
            name: NaturalOrder.comparable(shown) + "\n" + (title.id?.description ?? ""))
    }
}
