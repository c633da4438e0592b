package import VaultModel
package import VaultStorage

/// The titles that were removed or shredded within the last minute.
///
/// A player that does not know that its title is gone keeps requesting it, which would cause the title to be fetched
/// and stored again. Existing links to the title are therefore refused for a minute, which is longer than players keep
/// retrying. The owner lifts the refusal by requesting the title without a link, as `fetch` does, or by creating a link
/// to it.
///
/// The removals are also sealed in the settings, so that a restart within the minute does not lose them.
package final class RemovedTitles: Sendable {
    private struct Mark {
        let removed: RemovedTitle
        /// The marks of the title and of everything that was removed with it; the settings keep only the first of them.
        let ids: Set<UInt64>
        /// The title's cache key, by which ``PartOwners`` identifies the title; nil after a restart.
        let key: [UInt8]?
    }

    private struct State {
        var marks: [Mark] = []
        /// Whether the marks have changed since the settings were written.
        var isUnwritten = false
    }

    private let partOwners: PartOwners
    private let state = Locked(State())
    /// Locked while the settings are written, so that an older state never overwrites a newer one.
    private let writing = Locked(())

    /// How long, in seconds, links to a removed title are refused.
    static let lifetime: Int64 = 60

    init(_ partOwners: PartOwners) { self.partOwners = partOwners }

    /// Loads the removals from the settings. Blocks.
    package func load(from store: VaultStore) {
        guard let stored = try? store.index.settings().removals, !stored.isEmpty else { return }
        let now = store.index.now()
        // Skip a title that the index still has, because it was stored again or its removal was interrupted.
        let inForce = stored.filter { removed in
            Self.isInForce(removed, at: now) && (try? store.index.titleIDs.resources(removed.title).isEmpty) ?? false
        }
        state.withLock { state in
            state.marks = inForce.map { Mark(removed: $0, ids: Set($0.ids), key: nil) }
            state.isUnwritten = inForce != stored
        }
    }

    /// Returns whether a removal still counts. Setting the wall clock back does not prolong the minute.
    private static func isInForce(_ removed: RemovedTitle, at now: Int64) -> Bool {
        removed.end > now && removed.end - now <= lifetime
    }

    /// Forgets all removals, because the vault is being closed; the settings keep them.
    package func forget() { state.withLock { $0 = State() } }

    // MARK: Removing

    /// Records that a title was removed; called before anything can use the title again.
    ///
    /// - Parameters:
    ///   - resource: the removed title, or a resource that was removed on its own.
    ///   - title: the title's id.
    ///   - others: the resources that were removed with `resource`.
    ///   - now: the wall-clock time, in seconds since 1970.
    func note(_ resource: NamedResource, _ title: TitleID, with others: Set<ResourceID>, now: Int64) {
        let own = RemovedTitle.mark(of: resource.id)
        let ids = Set(others.map(RemovedTitle.mark)).subtracting([own])
        let removed = RemovedTitle(title: title, ids: [own] + ids.sorted(), end: now + Self.lifetime)
        state.withLock { state in
            state.marks.removeAll { $0.removed.ids.first == own || !Self.isInForce($0.removed, at: now) }
            state.marks.append(Mark(removed: removed, ids: ids.union([own]), key: resource.key.bytes))
            state.isUnwritten = true
        }
    }

    /// Lets links open a title again, because its owner has asked for it.
    package func end(_ title: ResourceID) {
        state.withLock { state in
            guard !state.marks.isEmpty else { return }
            let (own, count) = (RemovedTitle.mark(of: title), state.marks.count)
            state.marks.removeAll { $0.removed.ids.first == own }
            if state.marks.count < count { state.isUnwritten = true }
        }
    }

    // MARK: Asking

    /// Whether no removal is recorded, so that a request need not look up its title.
    package var isEmpty: Bool { state.withLock { $0.marks.isEmpty } }

    /// Returns whether links to a resource are refused.
    ///
    /// - Parameters:
    ///   - title: the title's id, if the link hides the title's origin; otherwise nil.
    ///   - now: the wall-clock time, in seconds since 1970.
    package func refuses(_ resource: NamedResource, ofHidden title: TitleID? = nil, now: Int64) -> Bool {
        let marks = marks(at: now)
        guard !marks.isEmpty else { return false }
        let own = RemovedTitle.mark(of: resource.id)
        if Self.isHidden(title, marks) || marks.contains(where: { $0.ids.contains(own) }) { return true }
        // A part that was never stored can be recognized only by the manifests that name it.
        guard resource.reference.isNamedByManifest else { return false }
        let titles = partOwners.titles(naming: resource.reference.url)
        return !titles.isEmpty && titles.allSatisfy { title in marks.contains { $0.key == title } }
    }

    /// Returns whether a link that hides its origin is refused.
    package func refuses(hidden title: TitleID, now: Int64) -> Bool { Self.isHidden(title, marks(at: now)) }

    private static func isHidden(_ title: TitleID?, _ marks: [Mark]) -> Bool {
        title.map { title in marks.contains { $0.removed.title == title } } ?? false
    }

    private func marks(at now: Int64) -> [Mark] {
        let marks = state.withLock(\.marks)
        return marks.isEmpty ? marks : marks.filter { Self.isInForce($0.removed, at: now) }
    }

    // MARK: Writing

    /// Writes the removals to the settings if they have changed, and forgets expired ones. Blocks.
    package func write(to store: VaultStore) throws {
        try writing.withLock { _ in
            let now = store.index.now()
            let marks: [RemovedTitle]? = state.withLock { state in
                let count = state.marks.count
                state.marks.removeAll { !Self.isInForce($0.removed, at: now) }
                guard state.isUnwritten || state.marks.count < count else { return nil }
                state.isUnwritten = false
                return state.marks.map(\.removed)
            }
            guard let marks else { return }
            do {
                try store.changeSettings { $0.removals = marks }
            } catch {
                state.withLock { $0.isUnwritten = true }
                throw error
            }
        }
    }
}
