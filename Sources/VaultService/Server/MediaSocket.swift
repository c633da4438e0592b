import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import VaultModel

/// Serves by a socket file what the service serves by its port: only who may open the file can ask.
struct MediaSocket: Service {
    let path: String
    let responder: ServiceResponder
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called once it listens, or has failed.
    let onSettled: @Sendable () -> Void

    /// Players of few users.
    private static let mostConnections = 128

    func run() async throws {
        defer { onSettled() }
        let connections = OpenConnections(
            most: Self.mostConnections, limits: configuration.connectionLimits, afterCrowd: configuration.afterCrowd)
        let application = Application(
            responder: responder, server: connections.server(HeldResponder(responder, logger: logger)),
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: path),
                availableConnectionsDelegate: OpenConnections.Admission(connections: connections)),
            // Whoever shall ask as well is let in by the mode of the folder, or by the operator.
            onServerRunning: { [path, onSettled] _ in
                SocketFile.restrict(path)
                onSettled()
            },
            logger: logger)
        defer { SocketFile.remove(path) }
        do {
            try await Listeners(all: [application, connections]).run()
        } catch let error where !(error is CancellationError) {
            throw VaultError(
                .storage,
                "the media socket \(path) cannot be made (\((error as? IOError).map { "error \($0.errnoCode)" } ?? "\(type(of: error))")); name a short path in a folder of your own"
            )
        }
    }
}
