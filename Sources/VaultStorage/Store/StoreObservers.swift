import Synchronization
package import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Reports to listeners which resources have changed.
///
/// No change waits for a listener: changes that a listener has not taken yet are merged.
package final class ChangeNotifier: Sendable {
    /// The changes since the listener last took them.
    package struct Changes: Hashable, Sendable {
        package fileprivate(set) var resources: Set<ResourceID> = []
        /// Whether more resources changed than are named; a listener that needs them all must read them all.
        package fileprivate(set) var isIncomplete = false
    }

    /// Identifies a listener.
    package typealias Listener = Int

    private struct ListenerState {
        var changes = Changes()
        let wake: @Sendable () -> Void
    }

    private struct State {
        var listeners: [Listener: ListenerState] = [:]
        var last = 0
    }

    private let state = Locked(State())

    /// The maximum number of changed resources that are kept for one listener.
    package static let maxPending = 4096

    package init() {}

    /// Adds a listener.
    ///
    /// - Parameter wake: called for each change; it should only pass the signal on.
    package func listen(_ wake: @escaping @Sendable () -> Void) -> Listener {
        state.withLock { state in
            state.last += 1
            state.listeners[state.last] = ListenerState(wake: wake)
            return state.last
        }
    }

    package func stopListening(_ listener: Listener) { state.withLock { $0.listeners[listener] = nil } }

    /// Returns the changes since the last call.
    package func take(_ listener: Listener) -> Changes {
        state.withLock { state in
            defer { state.listeners[listener]?.changes = Changes() }
            return state.listeners[listener]?.changes ?? Changes()
        }
    }

    /// Records that a resource, or what is held of it, has changed.
    package func note(_ resource: ResourceID) {
        let wakes = state.withLock { state in
            for listener in state.listeners.keys { state.listeners[listener]?.changes.note(resource) }
            return state.listeners.values.map(\.wake)
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

/// The wall clock in whole seconds since 1970.
package enum WallClock {
    @Sendable package static func now() -> Int64 { Int64(time(nil)) }
}
