import Foundation
import MediaVault
import VaultModel

// Viewers, and the titles that are shared with them.
extension LocalVault {
    package func viewers() async throws -> ViewersDocument {
        let viewers = vault.viewers
        return ViewersDocument(viewers: viewers.all.map(document), damaged: viewers.unreadableCount)
    }

    private func document(_ viewer: Viewer) -> ViewerDocument {
        ViewerDocument(viewer, titles: vault.viewers.shares(with: viewer.id).count)
    }

    package func addViewer(_ order: ViewerOrder) async throws -> ViewerDocument {
        document(
            try await vault.viewers.add(order.name, pin: order.pin, sharesAll: order.sharesAll ?? false))
    }

    package func changeViewer(_ change: ViewerChange) async throws -> ViewerDocument {
        guard change.pin == nil || change.hasPIN != false else {
            throw VaultError(.invalidArgument, "the request sets a PIN and takes it away; leave out pin or hasPIN")
        }
        guard change.pin != nil || change.hasPIN != true else {
            throw VaultError(.invalidArgument, "hasPIN can only be false; give a pin to set one")
        }
        guard change.unlock != false else {
            throw VaultError(.invalidArgument, "unlock can only be true; leave it out to keep the waits")
        }
        let id = try Self.viewerID(change.id)
        let pin: PINChange = change.pin.map { .set($0) } ?? (change.hasPIN == false ? .remove : .keep)
        var changed = try await vault.viewers.change(id, name: change.name, pin: pin, sharesAll: change.sharesAll)
        if change.unlock == true { changed = try await vault.viewers.unlock(id) }
        // Sessions are ended, so that a person who knew only the old PIN loses access.
        if change.pin != nil || change.hasPIN == false { try await vault.endSessions(of: id) }
        return document(changed)
    }

    package func removeViewer(_ text: String) async throws {
        let id = try Self.viewerID(text)
        try await vault.viewers.remove(id)
        // Once the viewer has been removed, their sessions grant no access, and their records can be removed.
        try await vault.endSessions(of: id)
    }

    package func shares() async throws -> SharesDocument {
        SharesDocument(
            shares: vault.viewers.shares.map { ShareDocument(id: $0.title, viewers: $0.viewers.map(\.hex).sorted()) })
    }

    package func share(_ order: ShareOrder) async throws -> SharedDocument {
        guard (1...ShareOrder.maxCount).contains(order.resources.count) else {
            throw VaultError(.invalidArgument, "resources must name 1 to \(ShareOrder.maxCount) titles")
        }
        let viewer = try order.viewer.map { try Self.viewerID($0) }
        return SharedDocument(
            changed: try await vault.viewers.share(order.resources, with: viewer, isShared: order.shared))
    }

    static func viewerID(_ text: String) throws -> ViewerID {
        guard let id = ViewerID(hex: text) else {
            throw VaultError(.invalidArgument, "the request's id is not the id of a viewer; list the viewers")
        }
        return id
    }
}
