import MediaVault
import VaultModel

/// The titles that are shared with one viewer, with their origins concealed.
///
/// To the viewer, titles that are not shared do not exist.
struct SharedTitles: Sendable {
    let vault: Vault
    let viewer: ViewerID
    var kept = KeptTitles(SelectableTitle.init(_:))

    /// The error for a title that the vault does not have, or that is not shared. Both get the same error.
    static let unknown = VaultError(.notHeld, "there is no such title; list the titles")

    /// Returns a title.
    ///
    /// - Throws: ``unknown`` if the title does not exist or is not shared.
    func title(_ id: TitleID) async throws -> ViewedTitleDocument {
        guard vault.viewers.isShared(id, with: viewer), let reference = try? await vault.titles.reference(of: id),
            let title = try await vault.titles.summary(of: reference).flatMap({
                ViewedTitleDocument($0, hasRanges: true)
            })
        else { throw Self.unknown }
        return title
    }

    /// Returns a page of the shared titles that a selection admits, ordered by name unless another order is selected.
    func page(after cursor: String?, limit: Int?, _ selection: ListSelection) async throws -> ViewedPageDocument {
        let limit = try LocalVault.checked(limit)
        let cursor = try cursor.map { try LocalVault.read($0, ListCursor.init) }
        var titles: [SelectableTitle]
        if let ids = selection.ids {
            titles = try await vault.titles.summaries(of: ids.filter { vault.viewers.isShared($0, with: viewer) })
                .map(SelectableTitle.init)
        } else {
            let all = try await kept.listing(of: vault, isFirst: cursor == nil).titles
            // What is shared is asked last, because a title that was listed may no longer be.
            let shared = try await vault.viewers.followedResources(sharedWith: viewer)
            titles = all.filter { shared?.contains($0.id) ?? true }.map(\.kept)
            // A part that is shared by itself is not listed.
            if let shared, titles.count < shared.count {
                let parts = try await vault.viewers.summaries(of: Array(shared.subtracting(all.map(\.id))))
                titles += parts.map(SelectableTitle.init)
            }
        }
        // The selection does not see URLs, so that neither a search nor an order can reveal their content.
        let page = try selection.page(
            of: titles.map(\.withoutOrigin), at: Timestamp(seconds: vault.now), after: cursor, limit: limit)
        return ViewedPageDocument(
            resources: page.titles.compactMap { ViewedTitleDocument($0) }, next: page.next?.description)
    }

    /// Creates a link to each title. The links reveal nothing about the titles' origins.
    ///
    /// - Parameter access: the session whose end also ends the links; nil if they are valid until they expire.
    func links(to order: LinkOrder, endingWith access: TokenAccess?) async throws -> LinkDocument {
        let details = order.details
        guard details.name == nil else {
            throw VaultError(.invalidArgument, "only the owner of the vault creates named links; leave out the name")
        }
        let expiry = try GrantExpiry(
            lifetime: details.lifetime, expires: details.expires, standard: .after(GrantExpiry.standardOfLinks))
        let end = try expiry.endOfUnnamed(now: vault.now)
        var paths: [String] = []
        for document in try order.documents {
            guard let id = document.id, document.contentID == nil, document.fields == nil else {
                throw VaultError(.invalidArgument, "a viewer names titles by their ids alone; give an id")
            }
            guard vault.viewers.isShared(id, with: viewer), let reference = try? await vault.titles.reference(of: id)
            else {
                throw Self.unknown
            }
            paths.append(
                try await vault.access.hiddenPath(
                    for: reference, HiddenTitle(title: id, viewer: viewer), expires: end, endingWith: access))
        }
        return LinkDocument(paths: paths, expires: end)
    }
}

extension VaultError {
    /// The error in a form that a viewer may see. Many messages are replaced, because they reveal where a title came
    /// from, or details of the service's system.
    var withoutOrigin: VaultError {
        var told = self
        (told.hint, told.originStatus) = (nil, nil)
        switch code {
        case .invalidArgument, .busy, .closed, .locked, .unsatisfiableRange: break
        case .notHeld where self == SharedTitles.unknown: break
        case .notHeld, .unreachable, .refused, .invalidResponse, .integrity, .changed, .notMedia, .removed:
            told.message = "the title cannot be played at the moment; try again later, or ask the owner of the vault"
        default: told.message = "the service could not do this; try again later, or ask the owner of the vault"
        }
        return told
    }
}
