import VaultModel
import VaultStorage

/// The rules of the collections, which are a setting of the vault, and the titles that are not yet as they demand.
final class CollectionRules: Sendable {
    private struct State {
        var rules: [CollectionMark: CollectionRule] = [:]
        /// The rule of each title that is not as it demands.
        var owed: [TitleID: CollectionRule] = [:]
    }

    private let state = Locked(State())
    /// A lock held while the settings and the state are changed.
    private let changing = Locked(())
    /// The maximum number of titles that are taken at once.
    private static let maxTaken = 64

    var isEmpty: Bool { state.withLock { $0.rules.isEmpty } }

    /// The collections that have a rule.
    var marks: Set<CollectionMark> { state.withLock { Set($0.rules.keys) } }

    subscript(mark: CollectionMark) -> CollectionRule { state.withLock { $0.rules[mark] ?? CollectionRule() } }

    /// Reads the rules. If they cannot be read, no collection has one until they are read again.
    func load(from store: VaultStore) {
        changing.withLock { _ in
            let rules = (try? store.index.settings().collectionRules) ?? [:]
            state.withLock { $0 = State(rules: rules) }
        }
    }

    /// Changes the rules, first in the settings and then here. Blocks.
    ///
    /// - Throws: ``VaultError`` with code `inUse` if too many collections would have a rule.
    func change(in store: VaultStore, _ change: (inout [CollectionMark: CollectionRule]) -> Void) throws {
        try changing.withLock { _ in try changeAlone(in: store, change) }
    }

    private func changeAlone(
        in store: VaultStore, _ change: (inout [CollectionMark: CollectionRule]) -> Void
    ) throws {
        var rules: [CollectionMark: CollectionRule] = [:]
        try store.changeSettings { settings in
            rules = settings.collectionRules
            change(&rules)
            rules = rules.filter { !$0.value.isEmpty }
            guard rules.count <= CollectionRule.maxCount else {
                throw VaultError(
                    .inUse,
                    "\(CollectionRule.maxCount) collections are pinned or have a mode, the maximum; unpin some")
            }
            settings.collectionRules = rules
        }
        state.withLock { $0.rules = rules }
    }

    /// Notes the titles that were read, each with the mark of its collection and with what it is like.
    func note(_ titles: [(id: TitleID, mark: CollectionMark, isPinned: Bool, mode: VaultMode?)]) {
        state.withLock { state in
            for title in titles {
                let rule = state.rules[title.mark]
                let isKept = rule?.isKept(isPinned: title.isPinned, mode: title.mode) ?? true
                state.owed[title.id] = isKept ? nil : rule
            }
        }
    }

    /// Returns some of the titles that are not as the rules demand, and forgets them. The caller puts back those that it
    /// fails to change.
    func takeOwed() -> [(TitleID, CollectionRule)] {
        state.withLock { state in
            let taken = state.owed.prefix(Self.maxTaken).map { ($0.key, $0.value) }
            for (title, _) in taken { state.owed[title] = nil }
            return taken
        }
    }

    func putBack(_ titles: some Collection<(TitleID, CollectionRule)>) {
        state.withLock { state in for (title, rule) in titles { state.owed[title] = rule } }
    }

    func forget() { state.withLock { $0 = State() } }
}
