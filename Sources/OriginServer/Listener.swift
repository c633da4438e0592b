import Foundation
import Synchronization

/// Accepts clients on its own thread until it is stopped.
final class Listener: Sendable {
    private let gate = Gate()
    private let stopped = DispatchSemaphore(value: 0)
    /// Owned by the thread, which releases and so closes the socket before it reports that it has stopped.
    private let socket: Mutex<Socket?>

    init(_ socket: Socket, welcome: @escaping @Sendable (Socket) -> Void) {
        self.socket = Mutex(socket)
        Thread.detachNewThread { [self] in
            while let client = accept() { welcome(client) }
            self.socket.withLock { $0 = nil }
            stopped.signal()
        }
    }

    /// Has the thread end, without waiting for it.
    func end() { gate.open() }

    /// Returns when no client can connect any more. Blocks the caller's thread until then.
    func stop() {
        end()
        stopped.wait()
    }

    private func accept() -> Socket? { socket.withLock { $0 }?.accept(unless: gate) }
}
