import VaultCache
import VaultCrypto
public import VaultModel
import VaultStorage

/// The collections of a vault: titles that belong together, because they are of one series, album, folder or feed, or
/// because the owner moved them together.
///
/// Collections are not stored. The titles themselves say where they belong, so that a title that comes later joins its
/// collection by itself, and is shared with the same viewers.
public struct Collections: Sendable {
    let titles: Titles
    let subscriptions: Subscriptions
    let viewers: Viewers

    /// Returns all collections, in the order of their names.
    ///
    /// Titles whose rows do not open are left out.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    public func all() async throws -> [TitleCollection] { try await collections(of: titles.list().sound()) }

    /// Returns the collections with at least one title that a viewer may see. Other titles are left out of them.
    ///
    /// - Throws: ``VaultError`` if the index cannot be read.
    public func all(sharedWith viewer: ViewerID) async throws -> [TitleCollection] {
        try await collections(of: viewers.summaries(sharedWith: viewer))
    }

    /// Returns the collection with an id.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is none.
    public func find(_ id: String) async throws -> TitleCollection { try Self.find(id, in: await all()) }

    private static func find(_ id: String, in all: [TitleCollection]) throws -> TitleCollection {
        guard let found = all.first(where: { $0.id == id }) else {
            throw VaultError(.notHeld, "there is no collection with this id; list the collections")
        }
        return found
    }

    /// Returns the viewers with whom a collection is shared, in the order in which they were added.
    public func viewers(of collection: TitleCollection) -> [ViewerID] { viewers.viewers(of: collection.key.mark) }

    /// Sets the name of a collection; nil or an empty name brings back the one that its titles state.
    ///
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such collection; `invalidArgument` if the collection
    ///   was made by ``move(_:to:)`` and would lose its name; `inUse` if another such collection, or another subscription,
    ///   has the name; `owned` if this process is not the owner.
    public func rename(_ id: String, to name: String?) async throws {
        try titles.store.requireOwner(to: "renames collections")
        let (all, name) = (try await all(), name.flatMap(MediaName.cleaned))
        let collection = try Self.find(id, in: all)
        switch collection.kind {
        case .own:
            guard let name else {
                throw VaultError(
                    .invalidArgument, "only its name holds this collection together; move its titles out to end it")
            }
            let key = CollectionKey(kind: .own, text: CollectionKey.comparable(name))
            // The viewers of the one would see the titles of the other.
            guard !all.contains(where: { $0.key == key && $0.id != id }) else {
                throw VaultError(
                    .inUse, "another collection has this name; move the titles into it, or give another name")
            }
            // The viewers of the old name stay the viewers, and its rule stays the rule.
            let (former, mark, rule) = (
                viewers.viewers(of: collection.key.mark), collection.key.mark, rule(of: collection)
            )
            for viewer in former { try await viewers.share(key.mark, with: viewer, isShared: true) }
            if !rule.isEmpty { try await changeRules { $0[key.mark] = rule } }
            try await change(collection.titles) { $0.collection = name }
            if key.mark != mark {
                for viewer in former { try await viewers.share(mark, with: viewer, isShared: false) }
                if !rule.isEmpty { try await changeRules { $0[mark] = nil } }
            }
        case .feed: try await subscriptions.rename(feed: collection.key.text, to: name)
        case .series, .album, .folder: try await change(collection.titles) { $0.collectionName = name }
        }
        try await follow()
    }

    /// Moves titles into the collection of the owner with a name, which begins to exist with its first title.
    ///
    /// - Parameters:
    ///   - ids: the ids of the titles.
    ///   - name: the name of the collection; nil to let the titles belong where they belong by themselves.
    /// - Throws: ``VaultError`` with code `notHeld` if the vault does not have one of the titles, in which case those
    ///   before it are moved; `owned` if this process is not the owner.
    public func move(_ ids: [TitleID], to name: String?) async throws {
        try titles.store.requireOwner(to: "moves titles")
        let name = name.flatMap(MediaName.cleaned)
        for id in ids { try await titles.change(titles.reference(of: id)) { $0.collection = name } }
        try await follow()
    }

    /// Lets what changed take effect on what viewers see before the caller goes on.
    private func follow() async throws {
        let viewers = viewers
        try await titles.pool.run { try viewers.followResources() }
    }

    /// Shares a collection with a viewer, or with all current viewers, or stops sharing it. What is shared includes the
    /// titles that come later.
    ///
    /// - Parameters:
    ///   - id: the id of the collection.
    ///   - viewer: the viewer; nil for all current viewers.
    ///   - isShared: whether the collection is shared from now on.
    /// - Returns: the number of viewers for whom that changed something.
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such collection or viewer; `inUse` if too many
    ///   collections are shared with the viewer; `owned` if this process is not the owner; `storage` or `diskFull` if
    ///   the change cannot be written.
    @discardableResult
    public func share(_ id: String, with viewer: ViewerID?, isShared: Bool) async throws -> Int {
        try await viewers.share(find(id).key.mark, with: viewer, isShared: isShared)
    }

    /// Returns what applies to every title of a collection, also to one that joins it later.
    public func rule(of collection: TitleCollection) -> CollectionRule { titles.marks.rules[collection.key.mark] }

    /// Pins all titles of a collection, or sets their mode, also of those that come later; or ends that, which changes
    /// the titles as ``Titles/unpin(_:)`` and ``Titles/setMode(_:for:)-(_,MediaReference)`` do.
    ///
    /// - Parameters:
    ///   - id: the id of the collection.
    ///   - isPinned: whether its titles are pinned from now on; nil to leave that unchanged.
    ///   - mode: the mode of its titles, in which nil means that each may have its own; nil to leave that unchanged.
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such collection; `inUse` if too many collections have
    ///   a rule; `owned` if this process is not the owner; `storage` or `diskFull` if the change cannot be written. A
    ///   title that could not be pinned or get its mode is tried again later.
    public func setRule(of id: String, isPinned: Bool? = nil, mode: VaultMode?? = nil) async throws {
        try titles.store.requireOwner(to: "pins collections and sets their modes")
        let collection = try await find(id)
        let mark = collection.key.mark
        try await changeRules { rules in
            let old = rules[mark] ?? CollectionRule()
            rules[mark] = CollectionRule(isPinned: isPinned ?? old.isPinned, mode: mode ?? old.mode)
        }
        titles.marks.rules.note(
            collection.titles.compactMap { title in
                title.id.map { ($0, mark, title.resourceClass == ResourceClass.pinned.rawValue, title.mode) }
            })
        var failure: VaultError?
        for title in collection.titles.compactMap(\.id) {
            do {
                let reference = try await titles.reference(of: title)
                if isPinned == false { try await titles.unpin(reference) }
                if case .some(nil) = mode { try await titles.setMode(nil, for: reference) }
                try await keep(rule(of: collection), for: reference)
            } catch let error as VaultError {
                // A title that was removed meanwhile needs nothing.
                if error.code != .notHeld, error.code != .removed { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
    }

    /// Pins titles that joined a pinned collection, and sets the mode of those that joined one with a mode: some of them,
    /// because this runs once a second. After a failure it goes on the next time.
    func keepRules() async {
        var owed = titles.marks.rules.takeOwed()[...]
        while let (title, rule) = owed.first {
            do {
                if rule == titles.marks.rule(of: title) { try await keep(rule, for: titles.reference(of: title)) }
            } catch let error as VaultError where error.code == .notHeld || error.code == .removed {
                // The title needs nothing any more.
            } catch {
                return titles.marks.rules.putBack(owed)
            }
            owed.removeFirst()
        }
    }

    private func keep(_ rule: CollectionRule, for reference: MediaReference) async throws {
        if rule.isPinned { try await titles.pin(reference) }
        if let mode = rule.mode { try await titles.setMode(mode, for: reference) }
    }

    private func changeRules(
        _ change: @escaping @Sendable (inout [CollectionMark: CollectionRule]) -> Void
    ) async throws {
        let (titles, viewers) = (titles, viewers)
        try await titles.pool.run {
            try titles.marks.rules.change(in: titles.store, change)
            try viewers.followResources()
        }
    }

    private func change(
        _ summaries: [ResourceSummary], _ change: @escaping @Sendable (inout ResourceMetadata) -> Void
    ) async throws {
        for id in summaries.compactMap(\.id) { try await titles.change(titles.reference(of: id), change) }
    }

    private func collections(of summaries: [ResourceSummary]) async throws -> [TitleCollection] {
        let grouping = TitleGrouping(try await subscriptions.all().subscriptions)
        let store = titles.store
        return grouping.collections(of: summaries, keeping: viewers.sharedMarks.union(titles.marks.rules.marks)) {
            key in
            // A keyed hash, because a viewer could guess the text behind another.
            let name = store.keyring.resourceID(
                cacheKey: Array("collection:".utf8) + key.bytes, locator: store.index.locator)
            return String((name?.hex ?? "").prefix(TitleCollection.idLength))
        }
    }
}
