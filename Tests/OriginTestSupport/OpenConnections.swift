import Synchronization

/// The connections that an origin has open, numbered in the order they were accepted.
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

    /// Breaks all off; whoever serves them notices.
    func disconnectAll() {
        state.withLock { state in
            for socket in state.sockets.values { socket.disconnect() }
        }
    }
}
