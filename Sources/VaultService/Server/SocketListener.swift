import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Listens at a socket file as long as the service runs, with the manners and bounds of the port. Only its owner connects.
struct SocketListener<Responder: HTTPResponder>: Service where Responder.Context == ServiceContext {
    let path: String
    let responder: Responder
    /// Answers what need not be waited for, where anything is.
    var held: HeldResponder?
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called once it listens.
    let onListening: @Sendable () -> Void

    /// Players and commands of few users, a few at a time each.
    private static var mostConnections: Int { 128 }

    /// - Throws: what the system says where it cannot listen, such as that a program does already.
    func run() async throws {
        try SocketFile.removeLeft(at: path)
        let draft = SocketName.draft(beside: path)
        let (bound, binds) = AsyncStream.makeStream(of: Never.self)
        let connections = OpenConnections(
            most: Self.mostConnections, limits: configuration.connectionLimits, afterCrowd: configuration.afterCrowd)
        let application = Application(
            responder: responder, server: connections.server(held),
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: draft),
                availableConnectionsDelegate: OpenConnections.Admission(connections: connections)),
            onServerRunning: { _ in binds.finish() },
            logger: logger)
        let name = SocketName(path: path, draft: draft, bound: bound, onListening: onListening)
        try await Listeners(all: [application, connections, name]).run()
    }

    /// Why it could not listen, in a word or two.
    static func reason(_ error: any Error) -> String {
        (error as? IOError).map { ListenFailure.reason($0.errnoCode) } ?? "\(type(of: error))"
    }
}
