package import VaultModel

/// Notifies listeners when bytes of a resource fail their check.
package final class DamageListeners: Sendable {
    private let listeners = Locked(NumberedSet<@Sendable (ResourceID) -> Void>())

    /// Adds a listener, and returns its number. The listener must not block.
    package func add(_ tell: @escaping @Sendable (ResourceID) -> Void) -> Int { listeners.withLock { $0.add(tell) } }

    package func remove(_ listener: Int) { listeners.withLock { $0.remove(listener) } }

    /// Notifies the listeners that bytes of a resource failed their check.
    package func note(_ resource: ResourceID) { for tell in listeners.withLock({ $0.all }) { tell(resource) } }
}
