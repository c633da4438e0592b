import Synchronization
package import VaultModel
package import VaultStorage

/// Collects changes to a vault's resources until this object is released.
package final class ResourceChanges: Sendable {
    /// The changes since the previous call of ``ResourceChanges/take()``.
    package struct News: Hashable, Sendable {
        package let resources: Set<ResourceID>
        /// Whether more resources have changed than are listed.
        package let isIncomplete: Bool
    }

    private let notifier: ChangeNotifier
    private let listener: ChangeNotifier.Listener

    /// - Parameter hearsAccess: whether the changes include that resources were read.
    package init(_ notifier: ChangeNotifier, hearsAccess: Bool = false, wake: @escaping @Sendable () -> Void) {
        self.notifier = notifier
        listener = notifier.listen(hearsAccess: hearsAccess, wake)
    }

    deinit { notifier.stopListening(listener) }

    /// Returns the changes since the previous call.
    package func take() -> News {
        let changes = notifier.take(listener)
        return News(resources: changes.resources, isIncomplete: changes.isIncomplete)
    }
}
