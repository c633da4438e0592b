import Logging
import ServiceLifecycle

/// Listens on the control socket, `control.sock` in the vault's folder, as long as the service runs.
///
/// A service that cannot have one serves all the same: only commands then wait until it ends.
struct ControlListener: Service {
    let api: APIResponder
    /// The vault's folder.
    let folder: String
    let configuration: ServiceConfiguration
    let logger: Logger
    /// Called once: it listens, or it never will.
    let onSettled: @Sendable () -> Void

    func run() async throws {
        guard let address = ControlAddress(folder: folder) else {
            return try await goWithout("the path of the vault's folder is too long for a socket")
        }
        let listener = SocketListener(
            path: address.path, responder: ControlResponder(api: api), configuration: configuration, logger: logger,
            onListening: onSettled)
        do {
            try await listener.run()
        } catch let error where !(error is CancellationError) {
            try await goWithout(SocketListener<ControlResponder>.reason(error))
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
