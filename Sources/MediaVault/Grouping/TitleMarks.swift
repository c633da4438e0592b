import VaultModel
import VaultStorage

/// Knows to which collection each title belongs, while a collection is shared with a viewer or has a rule.
///
/// Requests read only this object. A title whose row was not read yet belongs to no collection, so that it is not
/// shared.
final class TitleMarks: Sendable {
    private struct Place {
        let resource: ResourceID
        let mark: CollectionMark
    }

    private let store: VaultStore
    /// What applies to the titles of collections.
    let rules = CollectionRules()
    /// The titles that belong to a collection; nil while none is shared or has a rule, so that they were not read.
    private let places = Locked<[TitleID: Place]?>(nil)
    /// The collections of feeds, from when all titles were read until it was checked which collections have none.
    private let unchecked = Locked<Set<CollectionMark>?>(nil)

    init(_ store: VaultStore) { self.store = store }

    /// Whether the titles were read, so that changes must be followed.
    var isLoaded: Bool { places.withLock { $0 != nil } }

    /// Returns the mark of the collection to which a title belongs; nil if it belongs to none.
    func mark(of title: TitleID) -> CollectionMark? { places.withLock { $0?[title]?.mark } }

    /// Returns the rule of the collection to which a title belongs, which demands nothing if it has none.
    func rule(of title: TitleID) -> CollectionRule { mark(of: title).map { rules[$0] } ?? CollectionRule() }

    /// Returns the titles of some collections, each with its resource.
    func titles(in marks: Set<CollectionMark>) -> [TitleID: ResourceID] {
        guard !marks.isEmpty else { return [:] }
        return places.withLock { ($0 ?? [:]).filter { marks.contains($0.value.mark) }.mapValues(\.resource) }
    }

    /// What changed when titles were read again.
    struct Change {
        /// Whether a title now belongs to another collection than before.
        let isAny: Bool
        /// The collections that have lost their last title, apart from feeds, to which more may come.
        let emptied: Set<CollectionMark>
    }

    /// Reads all titles. Blocks.
    @discardableResult
    func load() throws -> Change {
        let grouping = TitleGrouping(try store.subscriptions.all().subscriptions)
        var found: [TitleID: Place] = [:]
        var last: ResourceID?
        var isSound = true
        repeat {
            let rows = try store.index.resources.sealed(after: last, limit: Self.pageSize, parts: false)
            let titles = try read(rows, grouping, &isSound)
            found.merge(titles) { _, new in new }
            last = rows.count < Self.pageSize ? nil : rows.last?.id
        } while last != nil
        let all = found
        unchecked.withLock { $0 = isSound ? grouping.marksOfFeeds : nil }
        return places.withLock { places in
            defer { places = all }
            return Self.change(from: places ?? [:], to: all, in: all, grouping)
        }
    }

    /// Forgets all titles, because no collection is shared or has a rule any more, or because the vault is closed.
    func forget() { places.withLock { $0 = nil } }

    /// Reads changed resources again, unless nothing was read before. Blocks.
    ///
    /// - Parameter missing: the changed resources that the vault no longer has.
    func follow(_ changed: Set<ResourceID>, missing: [ResourceID]) throws -> Change {
        let grouping = TitleGrouping(try store.subscriptions.all().subscriptions)
        let rows = try store.index.resources.sealed(Array(changed.subtracting(missing)))
        var isSound = true
        let found = try read(rows, grouping, &isSound)
        return places.withLock { places in
            guard var now = places else { return Change(isAny: false, emptied: []) }
            let former = now.filter { changed.contains($0.value.resource) || found[$0.key] != nil }
            for title in former.keys { now[title] = nil }
            now.merge(found) { _, new in new }
            places = now
            return Self.change(from: former, to: found, in: now, grouping)
        }
    }

    /// Compares the titles that were read again.
    ///
    /// - Parameter all: all titles as they are now.
    private static func change(
        from former: [TitleID: Place], to found: [TitleID: Place], in all: [TitleID: Place], _ grouping: TitleGrouping
    ) -> Change {
        guard former.mapValues(\.mark) != found.mapValues(\.mark) else { return Change(isAny: false, emptied: []) }
        let held = Set(all.values.map(\.mark))
        let left = Set(former.values.map(\.mark)).subtracting(held)
        return Change(isAny: true, emptied: left.subtracting(grouping.marksOfFeeds))
    }

    /// Whether all titles were read, and it was not checked since which collections have none.
    var isUnchecked: Bool { unchecked.withLock { $0 != nil } }

    /// Returns which of some collections have no title, apart from feeds, if all titles were read since the last call.
    ///
    /// That a collection has lost its last title may not have been recorded, because the process ended or the disk was
    /// full.
    func takeEmptied(among known: Set<CollectionMark>) -> Set<CollectionMark> {
        let feeds = unchecked.withLock { feeds in
            defer { feeds = nil }
            return feeds
        }
        guard let feeds else { return [] }
        let held = places.withLock { Set(($0 ?? [:]).values.map(\.mark)) }
        return known.subtracting(held).subtracting(feeds)
    }

    /// - Parameter isSound: set to false if a row does not open.
    private func read(
        _ rows: [SealedResource], _ grouping: TitleGrouping, _ isSound: inout Bool
    ) throws -> [TitleID: Place] {
        var found: [TitleID: Place] = [:]
        var seen: [(id: TitleID, mark: CollectionMark, isPinned: Bool, mode: VaultMode?)] = []
        let opened = try rows.compactMap { try store.index.resources.openIfSound($0) }
        isSound = isSound && opened.count == rows.count
        for resource in opened {
            let summary = ResourceSummary(resource)
            if !summary.isPart, let title = summary.id, let key = grouping.key(of: summary) {
                let place = Place(resource: resource.id, mark: key.mark)
                found[title] = place
                seen.append((title, place.mark, resource.resourceClass == .pinned, summary.mode))
            }
        }
        if store.isOwner { rules.note(seen) }
        return found
    }

    private static let pageSize = 256
}

/// Passes on that resources have changed, at most once at a time.
final class WakeUp: Sendable {
    private let act = Locked<(@Sendable () -> Void)?>(nil)
    private let isRunning = Locked(false)

    func set(_ act: @escaping @Sendable () -> Void) { self.act.set(act) }

    func call() { act.value?() }

    /// Returns whether the caller is the only one that has begun.
    func begin() -> Bool {
        isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
    }

    func end() { isRunning.withLock { $0 = false } }
}
