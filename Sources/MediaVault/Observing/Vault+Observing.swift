import Synchronization
package import VaultModel
import VaultStorage

// What those see who watch a vault.
extension Vault {
    /// What it has done since it was opened.
    package var work: VaultWork {
        let work = store.work
        return VaultWork(opened: work.opened.total, sealed: work.sealed.total, damaged: work.damaged.total)
    }

    /// Listens to which resources change, or what is held of them.
    ///
    /// - Parameter wake: called for each change, by whoever makes it; it only passes the word on.
    package func changes(_ wake: @escaping @Sendable () -> Void) -> ResourceChanges {
        ResourceChanges(store.changes, wake: wake)
    }

    /// What names a resource in this vault.
    package func id(of reference: MediaReference) async throws -> ResourceID { try await name(reference).id }

    /// What the vault holds of the resource of this name; nil where there is none.
    package func summary(of id: ResourceID) async throws -> ResourceSummary? {
        let store = store
        return try await pool.run { try store.index.resource(id).map { ResourceSummary($0) } }
    }
}
