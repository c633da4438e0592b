import VaultModel

/// Tells listeners which resources have bytes that failed their check.
final class DamageListeners: Sendable {
    private let listeners = Locked(NumberedSet<@Sendable (ResourceID) -> Void>())

    /// Adds a listener, which must not block; returns its number.
    func add(_ tell: @escaping @Sendable (ResourceID) -> Void) -> Int { listeners.withLock { $0.add(tell) } }

    func remove(_ listener: Int) { listeners.withLock { $0.remove(listener) } }

    /// Reports that bytes of a resource failed their check.
    func note(_ resource: ResourceID) { for tell in listeners.withLock({ $0.all }) { tell(resource) } }
}
