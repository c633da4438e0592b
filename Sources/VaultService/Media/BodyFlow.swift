import NIOCore
import VaultModel

/// Keeps a body from running ahead of its connection: the library's writer takes megabytes before it makes one wait.
///
/// The connection's event loop takes what was written in order; what it has not come to is on its way.
final class BodyFlow: Sendable {
    private struct State {
        var onTheirWay = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let eventLoop: any EventLoop
    private let state = Locked(State())

    /// The most pieces that may be on their way while the next is made ready.
    private static let most = 1

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Whether the connection has come to everything that was written.
    var isIdle: Bool { state.withLock { $0.onTheirWay == 0 } }

    /// Notes that a piece was written.
    func noteWrite() {
        state.withLock { $0.onTheirWay += 1 }
        eventLoop.execute { self.arrived() }
    }

    /// Returns once the next piece may be made ready.
    func room() async {
        guard state.withLock({ $0.onTheirWay > Self.most }) else { return }
        await withCheckedContinuation { waiter in
            let isFull = state.withLock { state in
                guard state.onTheirWay > Self.most else { return false }
                state.waiter = waiter
                return true
            }
            if !isFull { waiter.resume() }
        }
    }

    private func arrived() {
        let waiter = state.withLock { state in
            state.onTheirWay -= 1
            return state.onTheirWay > Self.most ? nil : state.waiter.take()
        }
        waiter?.resume()
    }
}
