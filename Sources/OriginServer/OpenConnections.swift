import Synchronization

/// The open connections of an origin, numbered in the order of acceptance.
final class OpenConnections: Sendable {
    private struct State {
        var sockets: [Int: Socket] = [:]
        var next = 0
        var areAllowed = true
    }

    private let state = Mutex(State())

    func add(_ socket: Socket) -> Int {
        state.withLock { state in
            defer { state.next += 1 }
            state.sockets[state.next] = socket
            if !state.areAllowed { socket.disconnect() }
            return state.next
        }
    }

    func remove(_ number: Int) { state.withLock { $0.sockets[number] = nil } }

    /// Breaks off all connections; their threads notice.
    ///
    /// - Parameter isFinal: whether connections that are added later are broken off, too.
    func disconnectAll(isFinal: Bool = false) {
        state.withLock { state in
            if isFinal { state.areAllowed = false }
            for socket in state.sockets.values { socket.disconnect() }
        }
    }
}
