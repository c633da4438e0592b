import VaultModel

/// The configuration of a service's listeners and limits.
package struct ServiceConfiguration: Sendable {
    /// The address on which the service listens.
    package var address = ListenAddress(host: "127.0.0.1", port: 8300)
    /// The host names, without a port, that a request may carry in `Host`, besides `127.0.0.1`, `localhost` and
    /// `[::1]`.
    package var hostNames: [String] = []
    /// The vault's folder, in which the control socket is created; nil for no control socket.
    package var controlFolder: String?
    /// The origins of the web pages that may play media, such as `https://kiosk.example`.
    package var allowedOrigins: [String] = []
    /// The TLS certificate and key; nil for plain HTTP.
    package var tls: TLSFiles?
    /// Whether to tell browsers, at any port, to use only TLS for the service's own host names; nil to do so only at
    /// the HTTPS port.
    package var requiresTLSOfBrowsers: Bool?
    /// The interval at which to check the TLS files for changes. A change is loaded at the check after the one that
    /// finds it.
    package var tlsCheckInterval: Duration = .seconds(5)
    /// Whether the service may listen without TLS at an address to which other machines can connect.
    package var isInsecure = false
    /// Whether an answer that is being sent to a viewer continues to its end even if the viewer loses the right to it.
    package var letsFinish = false
    /// The path of an additional socket file on which the service listens; nil for none.
    package var mediaSocket: String?
    /// The maximum number of open connections. The actual maximum is lower if the system allows fewer open files.
    ///
    /// When it is reached, the service accepts another connection only once one has ended.
    package var maxConnections = 1024
    /// The time limits of connections.
    package var connectionLimits = ConnectionLimits()
    /// How long answers that are being sent may continue after shutdown begins.
    ///
    /// With the default, the service ends within ten seconds, including the time to close the vault.
    package var shutdownLimit: Duration = .seconds(9)
    /// Called after many clients have disconnected, so that the process can return unused memory to the system. The
    /// closure must not block.
    package var afterPeak: @Sendable () -> Void = {}
    /// Hooks that clear the process's memory when the vault is locked.
    package var locking = LockHooks()
    /// Whether the operator chose to only read the vault. If not, a service that only reads it sends a notice about the
    /// disk.
    package var isMeantToRead = false
    /// Whether SIGTERM and SIGINT end the service.
    package var endsOnSignals = true

    package init() {}
}

/// Hooks that clear a process's memory when its vault is locked. They are needed because records are text, which cannot
/// be wiped in place.
package struct LockHooks: Sendable {
    /// Called before the service forgets anything.
    let begin: @Sendable () -> Void
    /// Called once the vault is locked and everything is forgotten.
    let end: @Sendable () async -> Void

    package init(begin: @escaping @Sendable () -> Void = {}, end: @escaping @Sendable () async -> Void = {}) {
        (self.begin, self.end) = (begin, end)
    }
}
