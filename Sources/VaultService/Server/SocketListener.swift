import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Listens at a socket file as long as the service runs, with the manners and bounds of the port. Only its owner connects.
struct SocketListener<Responder: HTTPResponder>: Service where Responder.Context == ServiceContext {
    let path: String
    let responder: Responder
    /// Answers what need not be waited for, where media is served.
    var held: HeldResponder?
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called once it listens.
    let onListening: @Sendable () -> Void

    /// Players and commands of few users, a few at a time each.
    private static var mostConnections: Int { 128 }

    /// - Throws: what the system says where it cannot listen.
    func run() async throws {
        let connections = OpenConnections(
            most: Self.mostConnections, limits: configuration.connectionLimits, afterCrowd: configuration.afterCrowd)
        let application = Application(
            responder: responder, server: connections.server(held),
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: path),
                availableConnectionsDelegate: OpenConnections.Admission(connections: connections)),
            // Whoever shall ask as well is let in by the operator.
            onServerRunning: { [path, onListening] _ in
                SocketFile.restrict(path)
                onListening()
            },
            logger: logger)
        defer { SocketFile.remove(path) }
        try await Listeners(all: [application, connections]).run()
    }

    /// Why it could not listen, in a word or two.
    static func reason(_ error: any Error) -> String {
        (error as? IOError).map { "error \($0.errnoCode)" } ?? "\(type(of: error))"
    }
}
