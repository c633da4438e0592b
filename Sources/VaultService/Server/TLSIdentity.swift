import Logging
import MediaVault
import NIOSSL
import ServiceLifecycle
import VaultModel

/// The certificate and the key that new connections are made with, read anew when their files have changed.
///
/// A service runs for longer than a certificate is good. The files are looked at now and then: who renews them, or mounts
/// them, need not know the process nor be told to signal it, and a hang-up ends one on a terminal as before. What cannot
/// be used leaves in use what there was, and is logged once; connections that stand go on.
final class TLSIdentity: Service {
    private struct State {
        var context: NIOSSLContext
        var renewal: TLSRenewal
    }

    private let files: TLSFiles
    private let interval: Duration
    private let logger: Logger
    private let state: Locked<State>

    /// Reads the files.
    ///
    /// - Parameter interval: how long it is from one look to the next.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` where they cannot be used.
    init(_ files: TLSFiles, every interval: Duration, logger: Logger) throws {
        self.files = files
        self.interval = interval
        self.logger = logger
        // Taken first: what changes while it is read is read again.
        let renewal = TLSRenewal(read: files.stamp)
        state = Locked(State(context: try files.context(), renewal: renewal))
    }

    /// What a connection is made with that begins now.
    var context: NIOSSLContext { state.withLock { $0.context } }

    /// Looks at the files until the service ends.
    func run() async throws {
        try? await cancelWhenGracefulShutdown { [self] in
            while true {
                try await Task.sleep(for: interval)
                try await BlockingPool.shared.run { [self] in look() }
            }
        }
    }

    /// Looks at the files once, and reads them where they have changed. Blocks.
    func look() {
        let stamp = files.stamp
        guard state.withLock({ $0.renewal.isDue(stamp) }) else { return }
        do {
            let context = try files.context()
            state.withLock { state in
                state.context = context
                state.renewal.succeed(stamp)
            }
            logger.notice("the TLS certificate was read anew")
        } catch {
            guard state.withLock({ $0.renewal.fail(stamp) }) else { return }
            logger.warning(
                "the TLS certificate has changed and the one before stays in use", metadata: ["reason": "\(error)"])
        }
    }
}
