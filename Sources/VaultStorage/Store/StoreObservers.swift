package import Synchronization
package import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Tells those who ask which resources have changed. Nobody waits for a listener: what it has not taken is put together.
package final class ChangeNotifier: Sendable {
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

extension ChangeNotifier.Changes {
    fileprivate mutating func note(_ resource: ResourceID) {
        guard resources.count < ChangeNotifier.mostWaiting || resources.contains(resource) else {
            isIncomplete = true
            return
        }
        resources.insert(resource)
    }
}

/// What a store has done since it was opened, counted where it is done.
package final class WorkCounters: Sendable {
    /// Plaintext bytes that were opened, whole blocks of them.
    package let opened = Atomic<Int64>(0)
    /// Plaintext bytes that were taken for sealing.
    package let sealed = Atomic<Int64>(0)
    /// Blocks and files that failed when they were read.
    package let damaged = Atomic<Int64>(0)

    package init() {}
}

extension Atomic<Int64> {
    func count(_ amount: Int64) { add(amount, ordering: .relaxed) }

    /// The count so far.
    package var total: Int64 { load(ordering: .relaxed) }
}

/// The wall clock in whole seconds since 1970.
package enum WallClock {
    @Sendable package static func now() -> Int64 { Int64(time(nil)) }
}
