import Synchronization
package import VaultModel

/// Reports to listeners which resources have changed.
///
/// A change never waits for a listener, because changes that a listener has not taken yet are merged.
package final class ChangeNotifier: Sendable {
    /// The changes since the listener last took them.
    package struct Changes: Hashable, Sendable {
        package fileprivate(set) var resources: Set<ResourceID> = []
        /// Whether more resources have changed than are named. A listener that needs all changes must then read all
        /// resources.
        package fileprivate(set) var isIncomplete = false
    }

    /// The number that identifies a listener.
    package typealias Listener = Int

    private struct ListenerState {
        var changes = Changes()
        /// Whether the listener also hears that resources were read, which may tell what someone plays.
        let hearsAccess: Bool
        let wake: @Sendable () -> Void
    }

    private let listeners = Locked(NumberedSet<ListenerState>())

    /// The maximum number of changed resources that are kept for one listener.
    package static let maxPending = 4096

    package init() {}

    /// Adds a listener.
    ///
    /// - Parameter wake: a closure that is called for each change. It should only pass the signal on.
    package func listen(hearsAccess: Bool = false, _ wake: @escaping @Sendable () -> Void) -> Listener {
        listeners.withLock { $0.add(ListenerState(hearsAccess: hearsAccess, wake: wake)) }
    }

    package func stopListening(_ listener: Listener) { listeners.withLock { $0.remove(listener) } }

    /// Returns the changes since the last time that they were taken for this listener.
    package func take(_ listener: Listener) -> Changes {
        listeners.withLock { listeners in
            listeners.change(listener) { listener in
                defer { listener.changes = Changes() }
                return listener.changes
            } ?? Changes()
        }
    }

    /// Records that any resource may have changed.
    package func noteAll() {
        let wakes = listeners.withLock { listeners in
            listeners.changeAll { $0.changes.isIncomplete = true }
            return listeners.all.map(\.wake)
        }
        for wake in wakes { wake() }
    }

    /// Records that a resource, or the state of its held bytes, has changed.
    package func note(_ resource: ResourceID) { note(CollectionOfOne(resource)) }

    /// Records that resources were read, for the listeners that hear it. They take that with the next change.
    package func noteAccess(to resources: some Collection<ResourceID>) {
        listeners.withLock { listeners in
            listeners.changeAll { listener in
                if listener.hearsAccess { for resource in resources { listener.changes.note(resource) } }
            }
        }
    }

    /// Records that some resources have changed. Each listener is woken once.
    package func note(_ resources: some Collection<ResourceID>) {
        guard !resources.isEmpty else { return }
        let wakes = listeners.withLock { listeners in
            listeners.changeAll { for resource in resources { $0.changes.note(resource) } }
            return listeners.all.map(\.wake)
        }
        for wake in wakes { wake() }
    }
}

extension ChangeNotifier.Changes {
    fileprivate mutating func note(_ resource: ResourceID) {
        guard resources.count < ChangeNotifier.maxPending || resources.contains(resource) else {
            isIncomplete = true
            return
        }
        resources.insert(resource)
    }
}
