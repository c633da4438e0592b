import Synchronization
package import VaultModel
import VaultStorage

/// Listens for changes to the resources of a vault, until it is released.
package final class ResourceChanges: Sendable {
    /// The changes since the last call of ``ResourceChanges/take()``.
    package struct News: Hashable, Sendable {
        package let resources: Set<ResourceID>
        /// Whether more resources have changed than are listed.
        package let isIncomplete: Bool
    }

    private let board: ChangeNotifier
    private let listener: ChangeNotifier.Listener

    init(_ board: ChangeNotifier, wake: @escaping @Sendable () -> Void) {
        self.board = board
        listener = board.listen(wake)
    }

    deinit { board.stopListening(listener) }

    /// Returns the changes since the last call.
    package func take() -> News {
        let changes = board.take(listener)
        return News(resources: changes.resources, isIncomplete: changes.isIncomplete)
    }
}

// Observation of a vault.
extension Vault {
    /// The work done since the vault was opened.
    package var work: VaultWork {
        let work = store.work
        return VaultWork(opened: work.opened.total, sealed: work.sealed.total, damaged: work.damaged.total)
    }

    /// Listens for changes to resources and to which of their bytes are held.
    ///
    /// - Parameter wake: called for each change, on the thread that makes it; it must only forward the signal.
    package func changes(_ wake: @escaping @Sendable () -> Void) -> ResourceChanges {
        ResourceChanges(store.changes, wake: wake)
    }

    /// Returns the id of a resource in this vault.
    package func id(of reference: MediaReference) async throws -> ResourceID { try await name(reference).id }

    /// Returns what the vault holds of the resource with this id; nil if it has none.
    package func summary(of id: ResourceID) async throws -> ResourceSummary? {
        let store = store
        return try await pool.run { try store.index.resource(id).map { ResourceSummary($0) } }
    }
}

/// The work that a vault has done since it was opened.
package struct VaultWork: Hashable, Sendable {
    /// The number of plaintext bytes that were opened.
    package let opened: Int64
    /// The number of plaintext bytes that were sealed.
    package let sealed: Int64
    /// The number of blocks and files that failed when they were read.
    package let damaged: Int64
}
