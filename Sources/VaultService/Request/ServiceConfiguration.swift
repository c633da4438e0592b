import VaultModel

/// The listeners and limits of a service.
package struct ServiceConfiguration: Sendable {
    /// The address on which the service listens.
    package var address = ListenAddress(host: "127.0.0.1", port: 8300)
    /// Names, besides `127.0.0.1`, `localhost` and `[::1]`, that a request may carry in `Host`, without a port.
    package var hostNames: [String] = []
    /// The vault's folder, where the control socket is created; nil for no control socket.
    package var controlFolder: String?
    /// Origins of web pages that may play media, such as `https://kiosk.example`.
    package var allowedOrigins: [String] = []
    /// The TLS certificate and key; nil for plain HTTP.
    package var tls: TLSFiles?
    /// Whether to tell browsers to use only TLS for the service's own host names, at any port; nil to do so only at the
    /// HTTPS port.
    package var requiresTLSOfBrowsers: Bool?
    /// How often to check the TLS files for changes; a change is loaded at the check after the one that finds it.
    package var tlsCheckInterval: Duration = .seconds(5)
    /// Whether the service may listen without TLS where other machines can connect.
    package var isInsecure = false
    /// Whether an answer that is being sent to a viewer continues to its end after they lose the right to it.
    package var letsFinish = false
    /// The path of a socket file on which the service also listens; nil for none.
    package var mediaSocket: String?
    /// Maximum connections at a time, or fewer if the system allows fewer open files.
    ///
    /// The service accepts further connections only when one ends.
    package var maxConnections = 1024
    /// The time limits of connections.
    package var connectionLimits = ConnectionLimits()
    /// How long running answers may continue after shutdown begins.
    ///
    /// Including the time to close the vault, the service then ends within ten seconds.
    package var shutdownLimit: Duration = .seconds(9)
    /// Called after many clients have disconnected, so that the process can return unused memory. It must not block.
    package var afterPeak: @Sendable () -> Void = {}
    /// Hooks that clear the process's memory when the vault is locked.
    package var locking = LockHooks()
    /// Whether the operator chose to only read the vault; if not, a vault that is only read causes a notice about the
    /// disk.
    package var isMeantToRead = false
    /// Whether SIGTERM and SIGINT end the service.
    package var endsOnSignals = true

    package init() {}
}

/// Hooks that clear a process's memory when its vault is locked: records are text, which cannot be wiped in place.
package struct LockHooks: Sendable {
    /// Called before the service forgets anything.
    let begin: @Sendable () -> Void
    /// Called once the vault is locked and everything is forgotten.
    let end: @Sendable () async -> Void

    package init(begin: @escaping @Sendable () -> Void = {}, end: @escaping @Sendable () async -> Void = {}) {
        (self.begin, self.end) = (begin, end)
    }
}
