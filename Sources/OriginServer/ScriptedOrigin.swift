import Foundation
import Synchronization
package import VaultModel

/// An HTTP/1.1 origin on a loopback port that answers by script and records its requests.
///
///     let origin = try ScriptedOrigin { request in
///         var answer = resource.answer(to: request)
///         answer.cut(at: 1000, by: .reset)
///         return answer
///     }
///     … origin.url("/film.mp4") …
///     await origin.wait { $0.first?.phase == .done }
package final class ScriptedOrigin: Sendable {
    /// The port, which stays the same when the origin is stopped and started again.
    package let port: Int
    private let log: ExchangeLog
    private let connections = OpenConnections()
    private let listener: Mutex<Listener?>

    /// Starts an origin that answers by `script`.
    package init(_ script: @escaping @Sendable (ScriptedRequest) -> ScriptedAnswer) throws {
        let socket = try Socket.listening(port: 0)
        port = socket.port
        log = ExchangeLog(script: script)
        listener = Mutex(nil)
        serve(socket)
    }

    /// Starts an origin that has this resource at every path.
    package convenience init(_ resource: ScriptedResource) throws {
        try self.init { resource.answer(to: $0) }
    }

    /// Starts such an origin that holds each body back at a byte until the gate opens.
    package convenience init(_ resource: ScriptedResource, holdingAt byte: Int64, _ gate: Gate) throws {
        try self.init { request in
            var answer = resource.answer(to: request)
            if request.method == "GET" { answer.insert(.hold(gate), at: byte) }
            return answer
        }
    }

    deinit {
        listener.withLock { $0 }?.end()
        connections.disconnectAll(isFinal: true)
    }

    /// Answers later requests by another script.
    package func answer(with script: @escaping @Sendable (ScriptedRequest) -> ScriptedAnswer) {
        log.setScript(script)
    }

    /// Returns the URL of a path, with its query, at this origin.
    package func url(_ target: String = "/film.mp4") -> MediaURL {
        let parts = target.split(separator: "?", maxSplits: 1)
        return MediaURL(
            scheme: "http", host: "127.0.0.1", port: port, path: String(parts[0]),
            query: parts.count > 1 ? String(parts[1]) : nil)
    }

    /// All requests so far, in the order of arrival.
    package var exchanges: [Exchange] { log.exchanges }

    /// Waits until the condition holds for all requests so far; returns early if the task is cancelled.
    package func wait(until condition: @escaping @Sendable ([Exchange]) -> Bool) async {
        await log.wait(until: condition)
    }

    /// Stops: refuses connections and breaks off the open ones. Gates stay closed. Blocks for as long as the listening
    /// thread needs to end.
    package func stop() {
        guard let listener = listener.withLock({ $0.take() }) else { return }
        listener.stop()
        connections.disconnectAll()
    }

    /// Starts again at the same port.
    package func start() throws {
        serve(try Socket.listening(port: port))
    }

    private func serve(_ socket: Socket) {
        stop()
        let (log, connections) = (log, connections)
        let listener = Listener(socket) { socket in
            let number = connections.add(socket)
            Thread.detachNewThread {
                OriginConnection(socket: socket, number: number, log: log).serve()
                connections.remove(number)
            }
        }
        self.listener.withLock { $0 = listener }
    }
}
