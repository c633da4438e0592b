import Synchronization
package import VaultModel
import VaultStorage

/// Listens to which resources of a vault change, until it is let go.
package final class ResourceChanges: Sendable {
    /// What has changed since it was last asked.
    package struct News: Hashable, Sendable {
        package let resources: Set<ResourceID>
        /// Whether more has changed than is named.
        package let isIncomplete: Bool
    }

    private let board: ChangeNotifier
    private let listener: ChangeNotifier.Listener

    init(_ board: ChangeNotifier, wake: @escaping @Sendable () -> Void) {
        self.board = board
        listener = board.listen(wake)
    }

    deinit { board.stopListening(listener) }

    /// What has changed since the last time.
    package func take() -> News {
        let changes = board.take(listener)
        return News(resources: changes.resources, isIncomplete: changes.isIncomplete)
    }
}

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

/// What a vault has done since it was opened.
package struct VaultWork: Hashable, Sendable {
    /// Plaintext bytes that were opened.
    package let opened: Int64
    /// Plaintext bytes that were sealed.
    package let sealed: Int64
    /// Blocks and files that failed when they were read.
    package let damaged: Int64
}
