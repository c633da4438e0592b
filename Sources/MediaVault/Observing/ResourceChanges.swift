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

/// The work that a vault has done since it was opened.
package struct VaultWork: Hashable, Sendable {
    /// The number of media bytes that origins have sent.
    package let fetched: Int64
    /// The number of plaintext bytes that were opened.
    package let opened: Int64
    /// The number of plaintext bytes that were sealed.
    package let sealed: Int64
    /// The number of blocks and files that failed when they were read.
    package let damaged: Int64
    /// The number of requests to origins that failed, by kind; a kind that did not occur is absent.
    package let originErrors: [OriginErrors.Kind: Int64]
}

/// The disk that has a vault.
package struct DiskSpace: Hashable, Sendable {
    /// The bytes that are free.
    package let free: Int64
    /// The size of its file system in bytes; nil if that is not reported.
    package let size: Int64?
}
