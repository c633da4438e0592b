package import VaultModel

/// A port that refuses connections, and that no other socket gets as long as this object exists.
package final class ClosedPort: Sendable {
    private let socket: Socket

    package init() throws { socket = try Socket.bound(port: 0) }

    /// A URL at this port.
    package var url: MediaURL {
        MediaURL(scheme: "http", host: "127.0.0.1", port: socket.port, path: "/film.mp4", query: nil)
    }
}
