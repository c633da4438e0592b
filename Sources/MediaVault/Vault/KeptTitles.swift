import VaultCache
package import VaultModel
import VaultStorage

/// What listings and searches use of each title, kept in memory and brought up to date before each use.
///
/// Reading all titles takes a vault with thousands of them a good part of a second. So only the first use reads the
/// vault, and each further one reads only the titles that have changed since. Nothing is kept beyond the pages of one
/// list if another process may change the vault, because its changes are not reported here.
package final class KeptTitles<Kept: Sendable>: Sendable {
    /// A title in a listing.
    package struct Entry: Sendable {
        package let id: ResourceID
        package let kept: Kept
        /// Whether changes of other resources also change what is known of the title.
        fileprivate let hasParts: Bool
    }

    /// All titles, as they were at one moment.
    package struct Listing: Sendable {
        /// The titles, in the order of their resources' ids.
        package fileprivate(set) var titles: [Entry] = []
        /// The number of titles whose rows do not open.
        package fileprivate(set) var damaged = 0
        fileprivate let changes: ResourceChanges
        fileprivate let terms: Terms
    }

    /// What the vault applies to all titles alike.
    fileprivate struct Terms: Hashable {
        /// The number of the locator, from which the ids follow.
        let locator: Int
        /// The age limit, after which titles expire.
        let age: Int64?

        init(_ store: VaultStore) { (locator, age) = (store.index.locator, try? store.limitsInForce().age) }
    }

    private let make: @Sendable (ResourceSummary) -> Kept
    private let listing = Locked<Listing?>(nil)
    /// A lock held while the listing is brought up to date, so that several callers do not read the vault at once.
    private let updating = AsyncLock()

    /// The maximum number of titles that are kept in memory.
    private static var maxCount: Int { 20_000 }

    /// - Parameter make: returns what to keep of a title.
    package init(_ make: @escaping @Sendable (ResourceSummary) -> Kept) { self.make = make }

    /// Returns the titles of a vault as they are now.
    ///
    /// - Parameter isFirst: whether a list begins, rather than goes on.
    package func listing(of vault: Vault, isFirst: Bool) async throws -> Listing {
        try await updating.exclusively {
            if let kept = try await broughtUp(vault, isFirst: isFirst) { return kept }
            return keep(try await read(vault), of: vault)
        }
    }

    /// Returns the kept titles as they are now; nil if none are kept, or if all would have to be read.
    package func keptListing(of vault: Vault) async throws -> Listing? {
        try await updating.exclusively { try await broughtUp(vault, isFirst: false) }
    }

    /// Forgets the titles, because the vault was locked.
    package func forget() { listing.withLock { $0 = nil } }

    private func keep(_ new: Listing, of vault: Vault) -> Listing {
        // The vault may have been locked or destroyed since, and then nothing of it is remembered.
        let isKept = new.titles.count <= Self.maxCount && !vault.isLocked && !vault.isDestroyed
        listing.withLock { $0 = isKept ? new : nil }
        return new
    }

    private func broughtUp(_ vault: Vault, isFirst: Bool) async throws -> Listing? {
        let taken = listing.withLock { listing in
            defer { listing = nil }
            return listing
        }
        let store = vault.titles.store
        guard let taken, store.isOwner || !isFirst else { return nil }
        let make = make
        return try await vault.titles.pool.run { try taken.changed(in: store, make) }.map { keep($0, of: vault) }
    }

    /// Reads the vault. What is kept of one page is made while the next page is read.
    private func read(_ vault: Vault) async throws -> Listing {
        let store = vault.titles.store
        // What changes during the reading is read again for the next use.
        let changes = ResourceChanges(store.changes, hearsAccess: true) {}
        var listing = Listing(changes: changes, terms: try await vault.titles.pool.run { Terms(store) })
        let make = make
        var pages = vault.titles.list().makeAsyncIterator()
        try await withThrowingTaskGroup(of: [Entry].self) { group in
            while let page = try await pages.nextPage() {
                group.addTask { page.map { Entry($0.id, $0.summary, make) } }
            }
            for try await page in group { listing.titles += page }
        }
        listing.titles.sort(by: Entry.areInOrder)
        listing.damaged = pages.damagedCount
        return listing
    }
}

extension KeptTitles.Listing {
    /// Returns the listing with what has changed since; nil if all titles have to be read. Blocks.
    fileprivate func changed(
        in store: VaultStore, _ make: (ResourceSummary) -> Kept
    ) throws -> KeptTitles.Listing? {
        typealias Entry = KeptTitles.Entry
        let news = changes.take()
        guard !news.isIncomplete, terms == KeptTitles.Terms(store) else { return nil }
        guard !news.resources.isEmpty else { return self }
        var ids = try store.index.titles.withTitles(news.resources)
        let missing = try store.index.resources.missing(among: ids)
        // The titles of a part that is gone are no longer recorded.
        if !missing.isEmpty, case let known = Set(titles.map(\.id)), !missing.allSatisfy(known.contains) {
            ids.formUnion(titles.filter(\.hasParts).map(\.id))
        }
        guard ids.count <= max(256, titles.count / 2) else { return nil }
        let rows = try store.index.resources.sealed(ids)
        let opened = try rows.compactMap { try store.index.resources.openIfSound($0) }
        // Whether a row that does not open is listed depends on the rows of its parts, as only a reading of all tells.
        guard damaged == 0, opened.count == rows.count else { return nil }
        var listing = self
        listing.titles.removeAll { ids.contains($0.id) }
        for (resource, summary) in zip(opened, try store.summaries(of: opened)) where !summary.isPart {
            listing.titles.append(Entry(resource.id, summary, make))
        }
        listing.titles.sort(by: Entry.areInOrder)
        return listing
    }
}

extension KeptTitles.Entry {
    fileprivate init(_ id: ResourceID, _ summary: ResourceSummary, _ make: (ResourceSummary) -> Kept) {
        (self.id, kept, hasParts) = (id, make(summary), summary.isManifest)
    }

    fileprivate static func areInOrder(_ one: Self, _ other: Self) -> Bool {
        one.id.bytes.lexicographicallyPrecedes(other.id.bytes)
    }
}

extension KeptTitles.Listing {
    /// Returns the titles that follow a resource's id, at most `limit`.
    package func page(after last: ResourceID?, limit: Int) -> ArraySlice<KeptTitles.Entry> {
        var (low, high) = (0, titles.count)
        while let last, low < high {
            let middle = (low + high) / 2
            if last.bytes.lexicographicallyPrecedes(titles[middle].id.bytes) { high = middle } else { low = middle + 1 }
        }
        return titles[low...].prefix(limit)
    }
}
