import VaultCrypto
package import VaultModel

/// Wraps every resource key of a vault anew under the current generation, some at a time. No media is read or written.
///
/// What it has done stays done: one that was broken off is begun again, and goes on with what is left.
package struct Rewrap: Sendable {
    /// How many keys are to be wrapped anew, as far as was known at the beginning.
    package let total: Int
    /// How many have been.
    package private(set) var done = 0
    /// How many do not open: they stay as they are, and their generation is still needed for them.
    package private(set) var unopened: Int
    /// How many resources have all that they had under other generations wrapped anew. One may have several keys.
    package var resources: Int { resourcesTotal - stuck.count }
    /// How far it went once it is at its end: what a receipt says.
    package var outcome: Receipt.Outcome { unopened == 0 ? .done : .partly }

    private let resourcesTotal: Int
    /// Resources with a key that does not open.
    private var stuck: Set<ResourceID> = []
    private let store: VaultStore
    private let current: Int
    private var waiting: [Int]
    private var last: WrappedKey?

    /// A transaction of so many rows holds up whoever plays for some hundredths of a second.
    private static let pageSize = 2000

    init(_ store: VaultStore) throws {
        self.store = store
        current = store.keyring.currentGeneration
        (total, resourcesTotal, unopened) = try store.index.keyCount(notWrappedBy: current)
        waiting = try store.index.generations().all.filter { $0 != store.keyring.currentGeneration }
    }

    /// Wraps the next keys. Blocks.
    ///
    /// - Returns: whether there may be more.
    package mutating func step() throws -> Bool {
        guard let generation = waiting.first else { return false }
        let page = try store.index.keys(wrappedBy: generation, after: last, limit: Self.pageSize)
        last = page.last
        if page.count < Self.pageSize {
            waiting.removeFirst()
            last = nil
        }
        var wrapped: [WrappedKey] = []
        for old in page {
            if let new = try anew(old) {
                wrapped.append(new)
            } else {
                unopened += 1
                stuck.insert(old.resource)
            }
        }
        if !wrapped.isEmpty {
            store.noteChange()
            try store.withDiskRoom { try store.index.replace(wrapped, generation: current) }
        }
        done += wrapped.count
        return !waiting.isEmpty
    }

    /// A key under the current generation; nil where it does not open.
    private func anew(_ old: WrappedKey) throws -> WrappedKey? {
        let keyring = store.keyring
        let opened = try keyring.unwrap(
            old.wrapped, resource: old.resource, number: old.number, generation: old.generation)
        guard let opened,
            let wrapped = try keyring.wrap(
                opened.secret, resource: old.resource, number: old.number, generation: current)
        else { return nil }
        var key = old
        key.wrapped = wrapped
        return key
    }
}
