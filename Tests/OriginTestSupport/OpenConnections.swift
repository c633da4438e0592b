import Synchronization

/// The open connections of an origin, numbered in the order of acceptance.
final class OpenConnections: Sendable {
    private struct State {
        var sockets: [Int: Socket] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    func add(_ socket: Socket) -> Int {
        state.withLock { state in
            defer { state.next += 1 }
            state.sockets[state.next] = socket
            return state.next
        }
    }

    func remove(_ number: Int) { state.withLock { $0.sockets[number] = nil } }

    /// Breaks off all connections; their threads notice.
    func disconnectAll() {
        state.withLock { state in
            for socket in state.sockets.values { socket.disconnect() }
        }
    }
}
