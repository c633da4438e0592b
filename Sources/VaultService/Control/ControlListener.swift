import Hummingbird
import HummingbirdCore
import Logging
import MediaVault
import NIOCore
import ServiceLifecycle

/// Listens on the control socket, `control.sock` in the vault's folder, as long as the service runs.
///
/// A service that cannot have one serves all the same: only commands then wait until it ends.
struct ControlListener: Service {
    let api: APIResponder
    /// The vault's folder.
    let folder: String
    let idleTimeout: TimeAmount
    let logger: Logger
    /// Called once: it listens, or it never will.
    let onSettled: @Sendable () -> Void

    /// Commands of one user, a few at a time each.
    private static let mostConnections = 128

    func run() async throws {
        guard let address = ControlAddress(folder: folder) else {
            return try await goWithout("the path of the vault's folder is too long for a socket")
        }
        let application = Application(
            responder: ControlResponder(api: api),
            server: .http1(configuration: .init(idleTimeout: idleTimeout)),
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: address.path),
                availableConnectionsDelegate: .maximum(Self.mostConnections, logger: logger)),
            // The folder keeps others out; so does the socket.
            onServerRunning: { [path = address.path, onSettled] _ in
                SocketFile.restrict(path)
                onSettled()
            },
            logger: logger)
        // This process owns the vault, so that nobody else's socket can be there.
        defer { SocketFile.remove(address.path) }
        do {
            try await application.run()
        } catch let error where !(error is CancellationError) {
            try await goWithout((error as? IOError).map { "error \($0.errnoCode)" } ?? "\(type(of: error))")
        }
    }

    private func goWithout(_ reason: String) async throws {
        logger.notice(
            "control.sock cannot be made in the vault's folder: commands that change the vault wait until this service ends",
            metadata: ["reason": "\(reason)"])
        onSettled()
        try await gracefulShutdown()
    }
}
