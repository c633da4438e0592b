import VaultModel
import VaultStorage

// Ends shares and positions when their titles are removed.
extension Viewers {
    /// Forgets removed titles, and reloads everything after the locator was changed. Blocks.
    ///
    /// When this returns, no title that was removed before the call is shared any more.
    func followResources() throws { try following.withLock { _ in try follow() } }

    private func follow() throws {
        let news = removals.take()
        if state.withLock({ $0.locator }) != store.index.locator { changing.withLock { _ in load() } }
        var changed = news.resources
        if news.isIncomplete { changed.formUnion(state.withLock { $0.shares.values.map(\.resource) }) }
        let missing = changed.isEmpty ? [] : try store.viewers.missing(among: changed)
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
