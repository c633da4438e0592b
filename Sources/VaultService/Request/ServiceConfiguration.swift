import VaultModel

/// The listeners of a service, and its limits.
package struct ServiceConfiguration: Sendable {
    /// The address on which it listens.
    package var address = ListenAddress(host: "127.0.0.1", port: 8300)
    /// Names, besides `127.0.0.1`, `localhost` and `[::1]`, that a request may carry in `Host`, without a port.
    package var hostNames: [String] = []
    /// The vault's folder, where the control socket is created; nil for no control socket.
    package var controlFolder: String?
    /// Origins of web pages that may play media, such as `https://kiosk.example`.
    package var allowedOrigins: [String] = []
    /// The TLS certificate and key; nil for plain HTTP.
    package var tls: TLSFiles?
    /// Whether browsers are told to come by TLS only to its own host names, whatever the port; nil to tell them at the port
    /// of HTTPS alone.
    package var requiresTLSOfBrowsers: Bool?
    /// How often the TLS files are checked for a change; changed files are read at the next check.
    package var tlsCheckInterval: Duration = .seconds(5)
    /// Whether it may listen without TLS where other machines can connect.
    package var isInsecure = false
    /// Whether an answer that is being sent to a viewer goes to its end, although they have lost the right to it.
    package var letsFinish = false
    /// The path of a socket file on which it also serves; nil for none.
    package var mediaSocket: String?
    /// The most connections at a time, or fewer if the system allows fewer open files.
    ///
    /// Further connections are not accepted until one ends.
    package var maxConnections = 1024
    /// The time limits of connections.
    package var connectionLimits = ConnectionLimits()
    /// How long running answers may continue after shutdown begins.
    ///
    /// Including the time to close the vault, the service then ends within ten seconds.
    package var shutdownLimit: Duration = .seconds(9)
    /// Called when a crowd of clients has gone, so that the process can return unused memory. It must not block.
    package var afterPeak: @Sendable () -> Void = {}
    /// What the process does with its memory while the vault is locked.
    package var locking = LockHooks()
    /// Whether a vault that is only read is so for another reason than a full disk, of which the operator is told.
    package var isMeantToRead = false
    /// Whether SIGTERM and SIGINT end the service.
    package var endsOnSignals = true

    package init() {}
}

/// What a process does with its memory while its vault is locked: records are text, which cannot be wiped where it is used.
package struct LockHooks: Sendable {
    /// Called before anything is forgotten.
    let begin: @Sendable () -> Void
    /// Called when the vault is locked, and everything is forgotten.
    let end: @Sendable () async -> Void

    package init(begin: @escaping @Sendable () -> Void = {}, end: @escaping @Sendable () async -> Void = {}) {
        (self.begin, self.end) = (begin, end)
    }
}
