/// How the service listens, and its limits.
package struct ServiceConfiguration: Sendable {
    /// Where it listens.
    package var address = ListenAddress(host: "127.0.0.1", port: 8300)
    /// Names beside `127.0.0.1`, `localhost` and `[::1]` that a request may carry in `Host`, without a port.
    package var hostNames: [String] = []
    /// The vault's folder, where the control socket is; nil makes none.
    package var controlFolder: String?
    /// Origins of web pages that may play, such as `https://kiosk.example`.
    package var allowedOrigins: [String] = []
    /// What it speaks TLS with; nil is plain HTTP.
    package var tls: TLSFiles?
    /// How often it is looked whether those files have changed; what has changed is read at the look after.
    package var tlsInterval: Duration = .seconds(5)
    /// Whether it may listen where other machines can connect, without TLS.
    package var isInsecure = false
    /// A socket file where it serves as well; nil makes none.
    package var mediaSocket: String?
    /// The connections held at a time, or fewer where the system allows fewer open files; more are not accepted until one
    /// ends.
    package var mostConnections = 1024
    /// How long a connection may do what it does.
    package var connectionLimits = ConnectionLimits()
    /// How long running answers may go on once the service is told to end: with what closing the vault takes, the end
    /// comes within ten seconds.
    package var shutdownLimit: Duration = .seconds(9)
    /// Called when a crowd of clients has gone: what the process keeps of its memory may be given back. It must not block.
    package var afterCrowd: @Sendable () -> Void = {}
    /// Whether SIGTERM and SIGINT end it.
    package var endsOnSignals = true

    package init() {}
}
