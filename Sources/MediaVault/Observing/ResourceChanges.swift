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

    private let board: ChangeBoard
    private let listener: ChangeBoard.Listener

    init(_ board: ChangeBoard, wake: @escaping @Sendable () -> Void) {
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
