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
