import Foundation
import GRDB
package import VaultModel

// The viewers, what is shared with them, and how far they have played.
extension VaultStore {
    /// Writes a viewer durably; a PIN that the viewer no longer has is erased.
    package func write(_ viewer: Viewer) throws {
        noteChange()
        if try withDiskSpace({ try index.write(viewer) }) { eraseIfDue() }
    }

    /// Deletes a viewer with their positions durably, and writes the shares without them.
    package func remove(_ viewer: ViewerID, changing shares: [ResourceID: TitleShare]) throws {
        noteChange(1 + shares.count)
        try withDiskSpace(orReserve: true) { try index.remove(viewer, changing: shares) }
        eraseIfDue()
    }

    /// Writes durably with whom titles are shared; titles that the vault does not have are left out.
    package func write(_ shares: [ResourceID: TitleShare]) throws {
        guard !shares.isEmpty else { return }
        noteChange(shares.count)
        // A full disk must not let a viewer see a title that is no longer shared with them.
        try withDiskSpace(orReserve: true) { try index.write(shares) }
        for id in shares.keys { changes.note(id) }
    }

    /// Returns the resources for which the index has no share.
    package func unshared(among ids: Set<ResourceID>) throws -> Set<ResourceID> {
        try index.read { db in
            guard try SealedTable.shares.exists(db) else { return ids }
            let statement = try db.cachedStatement(sql: "SELECT 1 FROM share WHERE id = ?")
            return try ids.filter { try Bool.fetchOne(statement, arguments: [$0.data]) == nil }
        }
    }

    /// Writes the positions of viewers; the owner's are under nil.
    package func write(_ positions: [ViewerID?: PlaybackPositions]) throws {
        guard isOwner, !positions.isEmpty else { return }
        noteChange()
        try index.write(positions)
    }
}
