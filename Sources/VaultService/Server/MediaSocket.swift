import Logging
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

    func run() async throws {
        defer { onSettled() }
        let listener = SocketListener(
            path: path, responder: responder, held: HeldResponder(responder, logger: logger),
            configuration: configuration, logger: logger, onListening: onSettled)
        do {
            try await listener.run()
        } catch let error where !(error is CancellationError) {
            throw VaultError(
                .storage,
                "the media socket \(path) cannot be made (\(SocketListener<ServiceResponder>.reason(error))); end what "
                    + "listens there, or name a short path in a folder of your own")
        }
    }
}
