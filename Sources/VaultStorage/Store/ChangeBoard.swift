package import VaultModel

/// Tells those who ask which resources have changed. Nobody waits for a listener: what it has not taken is put together.
package final class ChangeBoard: Sendable {
    /// What has changed since it was last asked.
    package struct Changes: Hashable, Sendable {
        package fileprivate(set) var resources: Set<ResourceID> = []
        /// Whether there were more than are named: who wants to know all asks for all.
        package fileprivate(set) var isIncomplete = false
    }

    /// Names a listener.
    package typealias Listener = Int

    private struct Listening {
        var changes = Changes()
        let wake: @Sendable () -> Void
    }

    private struct State {
        var listeners: [Listener: Listening] = [:]
        var last = 0
    }

    private let state = Locked(State())

    /// The most resources that wait to be told to one listener.
    package static let mostWaiting = 4096

    package init() {}

    /// Begins to listen.
    ///
    /// - Parameter wake: called for each change; it only passes the word on.
    package func listen(_ wake: @escaping @Sendable () -> Void) -> Listener {
        state.withLock { state in
            state.last += 1
            state.listeners[state.last] = Listening(wake: wake)
            return state.last
        }
    }

    package func stopListening(_ listener: Listener) { state.withLock { $0.listeners[listener] = nil } }

    /// What has changed since the last time.
    package func take(_ listener: Listener) -> Changes {
        state.withLock { state in
            defer { state.listeners[listener]?.changes = Changes() }
            return state.listeners[listener]?.changes ?? Changes()
        }
    }

    /// Notes that a resource, or what is held of it, has changed.
    package func note(_ resource: ResourceID) {
        let wakes = state.withLock { state in
            for listener in state.listeners.keys { state.listeners[listener]?.changes.note(resource) }
            return state.listeners.values.map(\.wake)
        }
        for wake in wakes { wake() }
    }
}

extension ChangeBoard.Changes {
    fileprivate mutating func note(_ resource: ResourceID) {
        guard resources.count < ChangeBoard.mostWaiting || resources.contains(resource) else {
            isIncomplete = true
            return
        }
        resources.insert(resource)
    }
}
