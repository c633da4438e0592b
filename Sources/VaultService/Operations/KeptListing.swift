import MediaVault
import VaultModel

/// The titles of the listing whose pages clients are turning, kept from one page to the next.
///
/// A page in the order of names or dates needs all titles, and reading all of them for each page takes a vault with
/// thousands of titles seconds. So the first page reads the vault, and each further page reads only the titles that have
/// changed since.
final class KeptListing: Sendable {
    private struct Listing {
        var titles: [TitleID: ResourceSummary]
        let changes: ResourceChanges
    }

    private let listing = Locked<Listing?>(nil)

    /// The maximum number of titles that are kept in memory, and of changed titles that are read one by one.
    private static let (mostTitles, mostChanges) = (20_000, 500)
    private static let pageSize = 1000

    /// Returns the titles of a vault, in no meaningful order, and the number of those whose rows do not open.
    ///
    /// - Parameter isFirst: whether the first page is asked for. If it is not, the number is 0.
    func titles(of vault: Vault, isFirst: Bool) async throws -> (titles: [ResourceSummary], damaged: Int) {
        if !isFirst, let kept = try await brought(up: vault) { return (Array(kept.values), 0) }
        let read = try await read(vault)
        return (read.titles, isFirst ? read.damaged : 0)
    }

    /// Forgets the titles, because the vault was locked.
    func forget() { listing.withLock { $0 = nil } }

    /// Returns the kept titles as they are now; nil if none are kept, or if reading all is faster.
    private func brought(up vault: Vault) async throws -> [TitleID: ResourceSummary]? {
        let taken = listing.withLock { listing in
            defer { listing = nil }
            return listing
        }
        guard var taken else { return nil }
        let news = taken.changes.take()
        guard !news.isIncomplete, news.resources.count <= Self.mostChanges else { return nil }
        for id in news.resources {
            let summary = try await Self.summary(of: id, in: vault)
            taken.titles[try await vault.titles.titleID(of: id)] = summary.flatMap { $0.isPart ? nil : $0 }
        }
        keep(taken, of: vault)
        return taken.titles
    }

    private func keep(_ new: Listing?, of vault: Vault) {
        // The vault may have been locked or destroyed since, and then nothing of it is remembered.
        listing.withLock { $0 = vault.isLocked || vault.isDestroyed ? nil : new }
    }

    /// Returns a title's summary; nil if the vault does not have it, or if its rows do not open.
    private static func summary(of id: ResourceID, in vault: Vault) async throws -> ResourceSummary? {
        do {
            return try await vault.titles.summary(of: id)
        } catch let error as VaultError where error.code == .integrity {
            return nil
        }
    }

    private func read(_ vault: Vault) async throws -> (titles: [ResourceSummary], damaged: Int) {
        // What changes during the reading is read again for the next page.
        let changes = vault.titles.changes {}
        var (titles, damaged, next): ([ResourceSummary], Int, ResourceID?) = ([], 0, nil)
        repeat {
            let page = try await vault.titles.page(after: next, limit: Self.pageSize)
            titles += page.resources
            (damaged, next) = (damaged + page.damagedCount, page.next)
        } while next != nil
        let named = titles.compactMap { title in title.id.map { ($0, title) } }
        let kept = Dictionary(named) { first, _ in first }
        // If two titles have one id, which is rare, a change of one would hide the other.
        let isKept = kept.count == titles.count && titles.count <= Self.mostTitles
        keep(isKept ? Listing(titles: kept, changes: changes) : nil, of: vault)
        return (titles, damaged)
    }
}
