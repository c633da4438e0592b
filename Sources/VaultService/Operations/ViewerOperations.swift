import Logging
import MediaVault
import VaultModel

extension Operations {
    /// Operations on viewers, and on the titles that are shared with them.
    package enum Viewers {
        static let all: [any AnyOperation] = [
            list, add, change, remove, shares, share, positions, setPosition, languages,
        ]

        /// Returns the viewers.
        package static let list = Operation<EmptyDocument, ViewersDocument>(.get, "viewers", scope: .admin) {
            _, vault, _ in
            let viewers = vault.viewers
            return ViewersDocument(
                viewers: viewers.all.map { document($0, vault) }, damaged: viewers.unreadableCount)
        }

        /// Adds a viewer.
        package static let add = Operation<ViewerOrder, ViewerDocument>(.post, "viewers", scope: .admin) {
            order, vault, caller in
            let added = document(
                try await vault.viewers.add(order.name, pin: order.pin, sharesAll: order.sharesAll ?? false), vault)
            caller.logger.notice("a viewer was added", metadata: ["viewer": "\(added.id)"])
            return added
        }

        /// Changes those properties of a viewer that the change names.
        package static let change = Operation<ViewerChange, ViewerDocument>(.patch, "viewers", scope: .admin) {
            change, vault, _ in
            guard change.pin == nil || change.hasPIN != false else {
                throw VaultError(
                    .invalidArgument, "the request sets a PIN and takes it away; leave out pin or hasPIN")
            }
            guard change.pin != nil || change.hasPIN != true else {
                throw VaultError(.invalidArgument, "hasPIN can only be false; give a pin to set one")
            }
            guard change.unlock != false else {
                throw VaultError(.invalidArgument, "unlock can only be true; leave it out to keep the waits")
            }
            let id = try viewerID(change.id)
            let pin: PINChange = change.pin.map { .set($0) } ?? (change.hasPIN == false ? .remove : .keep)
            var changed = try await vault.viewers.change(
                id, name: change.name, pin: pin, sharesAll: change.sharesAll, languages: change.languages)
            if change.unlock == true { changed = try await vault.viewers.unlock(id) }
            // Sessions are ended, so that a person who knew only the old PIN loses access.
            if change.pin != nil || change.hasPIN == false { try await vault.access.endSessions(of: id) }
            return document(changed, vault)
        }

        /// Removes the viewer with an id.
        package static let remove = Operation<ViewerSelection, EmptyDocument>(.delete, "viewers", scope: .admin) {
            selection, vault, caller in
            guard let text = selection.id else {
                throw VaultError(.invalidArgument, "the query must have the id of a viewer; list the viewers")
            }
            let id = try viewerID(text)
            try await vault.viewers.remove(id)
            // Once the viewer has been removed, their sessions grant no access, and their records can be removed.
            try await vault.access.endSessions(of: id)
            caller.logger.notice("a viewer was removed", metadata: ["viewer": "\(id.hex)"])
            return EmptyDocument()
        }

        /// Returns the titles that are shared individually, and the viewers with whom they are shared.
        package static let shares = Operation<EmptyDocument, SharesDocument>(.get, "shares", scope: .admin) {
            _, vault, _ in
            SharesDocument(
                shares: vault.viewers.shares.map {
                    ShareDocument(id: $0.title, viewers: $0.viewers.map(\.hex).sorted())
                })
        }

        /// Shares titles with one viewer or with all viewers, or stops sharing them.
        package static let share = Operation<ShareOrder, SharedDocument>(.post, "shares", scope: .admin) {
            order, vault, _ in
            let viewer = try order.viewer.map { try viewerID($0) }
            switch (order.resources, order.collection) {
            case (let titles?, nil):
                let titles = try ShareOrder.checked(titles)
                return SharedDocument(
                    changed: try await vault.viewers.share(titles, with: viewer, isShared: order.shared))
            case (nil, let id?):
                return SharedDocument(
                    changed: try await vault.collections.share(id, with: viewer, isShared: order.shared))
            default:
                throw VaultError(.invalidArgument, "the request must name either resources or a collection")
            }
        }

        /// Returns the positions up to which the caller has played titles.
        static let positions = Operation<EmptyDocument, PositionsDocument>(
            .get, "positions", scope: .play, isForViewers: true
        ) { _, vault, caller in
            let viewers = vault.viewers
            let positions = try await viewers.positions(of: caller.viewer).filter { position in
                caller.viewer.map { viewers.isShared(position.title, with: $0) } ?? true
            }
            return PositionsDocument(positions: positions.map { PositionDocument($0) })
        }

        /// Records the position up to which the caller has played a title.
        static let setPosition = Operation<TitleRequest<PositionOrder>, EmptyDocument>(
            .put, "resources/{id}/position", scope: .play, isForViewers: true
        ) { order, vault, caller in
            if let viewer = caller.viewer {
                _ = try await SharedTitles(vault: vault, viewer: viewer).title(order.id)
            } else {
                _ = try await vault.titles.reference(of: order.id)
            }
            let (position, length) = (try order.details.position, try order.details.length)
            try vault.viewers.setPosition(position, duration: length, of: order.id, for: caller.viewer)
            return EmptyDocument()
        }

        /// Returns the languages in which the caller wants to hear and read titles: a viewer's own, or else the vault's.
        static let languages = Operation<EmptyDocument, LanguagesDocument>(
            .get, "languages", scope: .play, isForViewers: true
        ) { _, vault, caller in
            let own = caller.viewer.flatMap { vault.viewers.viewer($0)?.languages } ?? []
            return LanguagesDocument(languages: own.isEmpty ? try await vault.settings.downloads().languages : own)
        }

        private static func document(_ viewer: Viewer, _ vault: Vault) -> ViewerDocument {
            ViewerDocument(viewer, titles: vault.viewers.shares(with: viewer.id).count)
        }

        static func viewerID(_ text: String) throws -> ViewerID {
            guard let id = ViewerID(hex: text) else {
                throw VaultError(.invalidArgument, "the request's id is not the id of a viewer; list the viewers")
            }
            return id
        }
    }
}

/// The languages in which the caller wants to hear and read titles, the favourite first.
struct LanguagesDocument: Codable, Sendable {
    let languages: [String]
}

/// The query of `DELETE /api/v1/viewers`.
package struct ViewerSelection: Codable, Sendable {
    let id: String?

    package init(_ id: String) { self.id = id }
}
