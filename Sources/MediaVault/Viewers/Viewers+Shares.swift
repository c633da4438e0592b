public import VaultModel
import VaultStorage

// Shares titles with viewers.
extension Viewers {
    /// Shares titles with a viewer, or with all current viewers.
    ///
    /// - Parameters:
    ///   - titles: the ids of the titles.
    ///   - viewer: the viewer; nil for all current viewers.
    /// - Returns: the number of titles whose sharing changed.
    /// - Throws: ``VaultError`` with code `notHeld` if there is no such viewer, or if the vault lacks one of the
    ///   titles, in which case nothing changes; `owned` if this process is not the owner; `storage` or `diskFull` if
    ///   the change cannot be written.
    @discardableResult
    public func share(_ titles: [TitleID], with viewer: ViewerID?) async throws -> Int {
        try await share(titles, with: viewer, isShared: true)
    }

    /// Stops sharing titles with a viewer, or with all current viewers. A viewer with whom every title is shared keeps
    /// them.
    ///
    /// - Parameters:
    ///   - titles: the ids of the titles.
    ///   - viewer: the viewer; nil for all current viewers.
    /// - Returns: the number of titles whose sharing changed.
    /// - Throws: the errors of ``share(_:with:)``.
    @discardableResult
    public func unshare(_ titles: [TitleID], from viewer: ViewerID?) async throws -> Int {
        try await share(titles, with: viewer, isShared: false)
    }

    /// Shares titles, or stops sharing them.
    @discardableResult
    public func share(_ titles: [TitleID], with viewer: ViewerID?, isShared: Bool) async throws -> Int {
        try store.requireOwner(to: "shares titles")
        return try await pool.run { [self] in
            try followResources()
            if !isShared { try requireNoCollection(of: titles, sharedWith: viewer) }
            let changed = try changing.withLock { _ in
                let changed = try shares(of: titles, with: viewer, isShared)
                try store.viewers.write(changed)
                state.withLock { state in
                    for (resource, share) in changed {
                        state.shares[share.title] = share.viewers.isEmpty ? nil : (resource, share.viewers)
                    }
                }
                return changed.count
            }
            if changed > 0 { noteChange() }
            return changed
        }
    }

    /// Returns the shares that would change, in their new form.
    private func shares(
        of titles: [TitleID], with viewer: ViewerID?, _ isShared: Bool
    ) throws -> [ResourceID: TitleShare] {
        guard viewer.map({ self.viewer($0) != nil }) ?? true else { throw Self.unknown }
        let (everyone, known) = state.withLock { (Set($0.viewers.keys), $0.shares) }
        let (chosen, titles) = (viewer.map { [$0] } ?? everyone, Set(titles))
        let found = try resources(of: titles.filter { known[$0] == nil })
        var changed: [ResourceID: TitleShare] = [:]
        for title in titles {
            guard let resource = known[title]?.resource ?? found[title] else { continue }
            let before = known[title]?.viewers ?? []
            let after = isShared ? before.union(chosen) : before.subtracting(chosen)
            if after != before { changed[resource] = TitleShare(title: title, viewers: after) }
        }
        return changed
    }

    /// Checks that no collection shares the titles with the viewer, or with any viewer, because they would stay shared.
    private func requireNoCollection(of titles: [TitleID], sharedWith viewer: ViewerID?) throws {
        let shared = sharedMarks(with: viewer)
        for title in titles where marks.mark(of: title).map(shared.contains) == true {
            throw VaultError(
                .inUse,
                "the title \(title) is shared with its collection; stop sharing the collection, or move the title out of it"
            )
        }
    }

    /// The marks of the collections that are shared with any viewer.
    var sharedMarks: Set<CollectionMark> { sharedMarks(with: nil) }

    private func sharedMarks(with viewer: ViewerID?) -> Set<CollectionMark> {
        state.withLock { state in
            state.viewers.values.reduce(into: Set<CollectionMark>()) {
                if viewer == nil || $1.id == viewer { $0.formUnion($1.collections) }
            }
        }
    }

    /// Returns the resources of titles. Their rows are read a page at a time.
    private func resources(of titles: Set<TitleID>) throws -> [TitleID: ResourceID] {
        let titles = Array(titles)
        var resources: [TitleID: ResourceID] = [:]
        for first in stride(from: 0, to: titles.count, by: Self.pageSize) {
            let page = Set(titles[first..<min(first + Self.pageSize, titles.count)])
            for (title, found) in try store.index.titleIDs.resources(page) {
                guard found.count == 1, found[0].place == nil else {
                    throw VaultError(.notHeld, "the vault has no title with the id \(title); list the titles")
                }
                resources[title] = found[0].id
            }
        }
        return resources
    }

    /// Returns whether a title is shared with a viewer.
    public func isShared(_ title: TitleID, with viewer: ViewerID) -> Bool {
        let mark = marks.mark(of: title)
        return state.withLock { state in
            guard let known = state.viewers[viewer] else { return false }
            return known.sharesAll || state.shares[title]?.viewers.contains(viewer) ?? false
                || mark.map(known.collections.contains) ?? false
        }
    }

    /// Returns the ids of the viewers with whom a title is shared individually, in the order in which the viewers were
    /// added.
    public func viewers(of title: TitleID) -> [ViewerID] {
        let shared = state.withLock { $0.shares[title]?.viewers } ?? []
        return all.map(\.id).filter(shared.contains)
    }

    /// The titles that are shared individually, each with its viewers, in the order of title ids.
    package var shares: [TitleShare] {
        state.withLock { $0.shares.map { TitleShare(title: $0.key, viewers: $0.value.viewers) } }
            .sorted { $0.title.description < $1.title.description }
    }

    /// Returns the titles that are individually shared with a viewer.
    public func shares(with viewer: ViewerID) -> Set<TitleID> {
        state.withLock { Set($0.shares.filter { $0.value.viewers.contains(viewer) }.keys) }
    }

    /// Returns the titles that are shared with a viewer, individually or with their collections; nil if every title is
    /// shared with them.
    public func titles(sharedWith viewer: ViewerID) -> Set<TitleID>? {
        resources(sharedWith: viewer).map { Set($0.keys) }
    }

    private func resources(sharedWith viewer: ViewerID) -> [TitleID: ResourceID]? {
        let (isAll, collections, shares) = state.withLock { state in
            (
                state.viewers[viewer]?.sharesAll == true, state.viewers[viewer]?.collections ?? [],
                state.shares.filter { $0.value.viewers.contains(viewer) }.mapValues(\.resource)
            )
        }
        return isAll ? nil : marks.titles(in: collections).merging(shares) { _, own in own }
    }

    /// Returns summaries of the titles that are shared with a viewer, in no meaningful order.
    ///
    /// Titles whose rows do not open are left out.
    public func summaries(sharedWith viewer: ViewerID) async throws -> [ResourceSummary] {
        guard let resources = try await followedResources(sharedWith: viewer) else {
            return try await ResourceListing(store: store, pool: pool, hasParts: false).sound()
        }
        return try await summaries(of: Array(resources))
    }

    /// Returns the resources of the titles that are shared with a viewer, once all changes so far have taken effect; nil
    /// if every title is shared with them.
    package func followedResources(sharedWith viewer: ViewerID) async throws -> Set<ResourceID>? {
        try await pool.run { [self] in
            try followResources()
            return resources(sharedWith: viewer).map { Set($0.values) }
        }
    }

    /// Returns summaries of some resources, in no meaningful order. Those whose rows do not open are left out.
    package func summaries(of resources: [ResourceID]) async throws -> [ResourceSummary] {
        var summaries: [ResourceSummary] = []
        for first in stride(from: 0, to: resources.count, by: Self.pageSize) {
            let page = Array(resources[first..<min(first + Self.pageSize, resources.count)])
            summaries += try await pool.run { [store] in
                let rows = try store.index.resources.sealed(page)
                return try store.summaries(of: rows.compactMap { try store.index.resources.openIfSound($0) })
            }
        }
        return summaries
    }

    private static var pageSize: Int { 256 }
}

// Shares collections with viewers.
extension Viewers {
    /// Shares a collection with a viewer, or with all current viewers, or stops sharing it.
    ///
    /// - Returns: the number of viewers for whom that changed something.
    @discardableResult
    func share(_ mark: CollectionMark, with viewer: ViewerID?, isShared: Bool) async throws -> Int {
        try store.requireOwner(to: "shares collections")
        guard viewer.map({ self.viewer($0) != nil }) ?? true else { throw Self.unknown }
        let chosen = all.filter { (viewer == nil || $0.id == viewer) && $0.collections.contains(mark) != isShared }
        for viewer in chosen {
            _ = try await change { viewers, _ in
                guard var viewer = viewers[viewer.id] else { throw Self.unknown }
                guard isShared else {
                    viewer.collections.remove(mark)
                    return viewer
                }
                viewer.collections.insert(mark)
                guard viewer.collections.count <= Viewer.maxCollections else {
                    throw VaultError(
                        .inUse,
                        "\(Viewer.maxCollections) collections are shared with one viewer, the maximum; "
                            + "end the sharing of some")
                }
                return viewer
            }
        }
        try await pool.run { [self] in try followResources() }
        return chosen.count
    }

    /// Returns the viewers with whom a collection is shared, in the order in which they were added.
    func viewers(of mark: CollectionMark) -> [ViewerID] { all.filter { $0.collections.contains(mark) }.map(\.id) }
}

// Ends shares and positions when their titles are removed.
extension Viewers {
    /// Forgets removed titles, and reloads everything after the locator was changed. Blocks.
    ///
    /// When this returns, no title that was removed before the call is shared any more.
    func followResources() throws {
        try following.withLock { _ in
            // What changes from now on wakes another follower, of whom only one waits.
            wakeUp.end()
            try follow()
        }
    }

    private func follow() throws {
        let news = removals.take()
        if state.withLock({ $0.locator }) != store.index.locator { changing.withLock { _ in load() } }
        var changed = news.resources
        if news.isIncomplete { changed.formUnion(state.withLock { $0.shares.values.map(\.resource) }) }
        let missing = changed.isEmpty ? [] : try store.index.resources.missing(among: changed)
        var wasShared = try endShares(without: missing, among: changed)
        for resource in missing {
            let title = try store.index.titleIDs.id(of: resource)
            // A title that has another resource id now still exists.
            let isGone = try store.index.titleIDs.resources(title).isEmpty
            changing.withLock { _ in
                state.withLock { if $0.forget(title, resource, isGone: isGone) { wasShared = true } }
            }
        }
        if wasShared { noteChange() }
        if try followCollections(changed, missing, isIncomplete: news.isIncomplete) { noteChange() }
    }

    /// Lets changed titles join or leave their collections.
    ///
    /// - Returns: whether that changed what is shared.
    private func followCollections(
        _ changed: Set<ResourceID>, _ missing: [ResourceID], isIncomplete: Bool
    ) throws -> Bool {
        guard needsCollections else {
            // Changes are not followed meanwhile, so that what was read of the titles must not be used again.
            marks.forget()
            return false
        }
        let isAll = isIncomplete || !marks.isLoaded
        guard isAll || !changed.isEmpty || marks.isUnchecked else { return false }
        do {
            let change = isAll ? try marks.load() : try marks.follow(changed, missing: missing)
            let known = sharedMarks.union(marks.rules.marks)
            try end(change.emptied.union(marks.takeEmptied(among: known)))
            return change.isAny
        } catch {
            // The changes were taken, so that the next follower has to read all titles.
            marks.forget()
            throw error
        }
    }

    /// Ends the sharing and the rules of collections that have lost their last title, so that another one of the same
    /// name does not get them.
    private func end(_ emptied: Set<CollectionMark>) throws {
        guard !emptied.isEmpty, store.isOwner else { return }
        if emptied.contains(where: { !marks.rules[$0].isEmpty }) {
            try marks.rules.change(in: store) { rules in rules = rules.filter { !emptied.contains($0.key) } }
        }
        try changing.withLock { _ in
            for var viewer in all where !viewer.collections.isDisjoint(with: emptied) {
                viewer.collections.subtract(emptied)
                try write(viewer)
            }
        }
    }

    /// Ends the shares of resources that were removed and then stored again, because their shares ended with the first
    /// row.
    ///
    /// - Returns: whether there were any such shares.
    private func endShares(without missing: [ResourceID], among changed: Set<ResourceID>) throws -> Bool {
        try changing.withLock { _ in
            let shared = state.withLock { state in
                state.shares.filter { changed.contains($0.value.resource) && !missing.contains($0.value.resource) }
            }
            guard !shared.isEmpty else { return false }
            let unshared = try store.viewers.unshared(among: Set(shared.values.map(\.resource)))
            let ended = shared.filter { unshared.contains($0.value.resource) }
            state.withLock { state in for title in ended.keys { state.shares[title] = nil } }
            return !ended.isEmpty
        }
    }
}

extension Viewers.State {
    /// Forgets a title's share and, if the title is gone, its positions.
    ///
    /// - Returns: whether the title was shared.
    mutating func forget(_ title: TitleID, _ resource: ResourceID, isGone: Bool) -> Bool {
        if isGone {
            for viewer in Array(positions.keys) where positions[viewer]?.forget(title) == true {
                unwritten.insert(viewer)
            }
        }
        guard shares[title]?.resource == resource else { return false }
        shares[title] = nil
        return true
    }
}
