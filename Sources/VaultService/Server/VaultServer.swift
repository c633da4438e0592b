import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
package import MediaVault
import NIOCore
import ServiceLifecycle
import UnixSignals
import VaultModel

/// The HTTP service over a vault.
package final class VaultServer: Sendable {
    private let address: ListenAddress
    private let group: ServiceGroup
    private let watch: StoreWatch
    private let memoryWatch: MemoryWatch
    let api: APIResponder

    /// Prepares a service that listens once it runs.
    ///
    /// - Parameter onListening: called once, with the address and the port that the system gave, as soon as clients can
    ///   connect.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` where other machines could connect and
    ///   that was not asked for, a host name is none, or the TLS files cannot be used.
    package init(
        vault: Vault, configuration: ServiceConfiguration, logger: Logger,
        onListening: @escaping @Sendable (ListenAddress) async -> Void = { _ in }
    ) throws {
        let address = configuration.address
        guard address.isLoopback || configuration.tls != nil || configuration.isInsecure else {
            throw VaultError(
                .invalidArgument,
                "\(address) can be reached by other machines and the service speaks plain HTTP: listen on 127.0.0.1, "
                    + "give it a certificate with --tls-certificate and --tls-key, or allow it with --insecure")
        }
        self.address = address
        var logger = logger
        logger.handler = ListenerLogHandler(logger.handler)
        watch = StoreWatch(vault: vault, logger: logger)
        memoryWatch = MemoryWatch(vault: vault, logger: logger)
        let (controlSettled, controlSettles) = AsyncStream.makeStream(of: Never.self)
        let (socketSettled, socketSettles) = AsyncStream.makeStream(of: Never.self)
        let connections = OpenConnections(
            most: min(configuration.mostConnections, DescriptorLimit.connections),
            limits: configuration.connectionLimits, afterCrowd: configuration.afterCrowd)
        let api = APIResponder(vault: vault, metrics: ServiceMetrics())
        self.api = api
        let responder = ServiceResponder(vault: vault, api: api, gate: try RequestGate(configuration))
        let identity = try configuration.tls.map {
            try TLSIdentity($0, every: configuration.tlsInterval, logger: logger)
        }
        let application = Application(
            responder: responder,
            server: connections.server(CacheHitResponder(responder, logger: logger), identity),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: OpenConnections.Admission(connections: connections)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? address.port
                vault.noteListening(at: port)
                // Who is told that the service listens may at once ask by the other ways.
                for await _ in controlSettled {}
                for await _ in socketSettled {}
                await onListening(ListenAddress(host: address.host, port: port))
            },
            logger: logger)
        let socket = configuration.mediaSocket.map { path in
            MediaSocket(
                path: path, responder: responder, configuration: configuration, logger: logger,
                onSettled: { socketSettles.finish() })
        }
        if socket == nil { socketSettles.finish() }
        let control = configuration.controlFolder.map { folder in
            ControlListener(
                api: api, folder: folder, configuration: configuration, logger: logger,
                onSettled: { controlSettles.finish() })
        }
        if control == nil { controlSettles.finish() }
        var listeners: [any Service] = [application, connections]
        if let identity { listeners.append(identity) }
        if let control { listeners.append(control) }
        if let socket { listeners.append(socket) }
        var services = ServiceGroupConfiguration(
            services: [Listeners(all: listeners)],
            gracefulShutdownSignals: configuration.endsOnSignals ? [.sigterm, .sigint] : [],
            logger: logger)
        // Without a limit the end waits for ever while a paused player keeps its answer open.
        services.maximumGracefulShutdownDuration = configuration.shutdownLimit
        group = ServiceGroup(configuration: services)
    }

    /// Serves until ``shutDown()``, SIGTERM or SIGINT: then no connection is accepted, running answers get the time
    /// that the configuration allows, and this returns.
    ///
    /// - Throws: ``ListenFailure`` where it cannot listen.
    package func run() async throws {
        let watching = [watch.begin(), memoryWatch.begin()]
        defer { for task in watching { task.cancel() } }
        do {
            try await group.run()
        } catch let failure as IOError {
            throw ListenFailure(address: address, errno: failure.errnoCode)
        } catch is SocketAddressError {
            throw ListenFailure(address: address, reason: "nobody knows that name")
        }
    }

    /// Ends the service as SIGTERM does; ``run()`` returns when it has ended.
    package func shutDown() async {
        await group.triggerGracefulShutdown()
    }
}

/// Listeners that begin and end together: a group of services would end one after the other.
struct Listeners: Service {
    let all: [any Service]

    func run() async throws {
        try await withThrowingTaskGroup { group in
            for listener in all { group.addTask { try await listener.run() } }
            // One that fails ends the others.
            while try await group.next() != nil {}
        }
    }
}

/// The service could not listen at its address.
package struct ListenFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where it should have listened.
    package let address: ListenAddress
    /// Why, in a few words.
    package let reason: String

    init(address: ListenAddress, reason: String) {
        self.address = address
        self.reason = reason
    }

    init(address: ListenAddress, errno: Int32) { self.init(address: address, reason: Self.reason(errno)) }

    /// What the system's error says, in a few words.
    static func reason(_ errno: Int32) -> String {
        switch errno {
        case EADDRINUSE, EEXIST: "it is in use"
        case EADDRNOTAVAIL: "it is no address of this machine"
        case ENOENT, ENOTDIR: "its folder is not there"
        case EACCES: "it takes rights that this process has not"
        default: "error \(errno)"
        }
    }

    /// One sentence without a full stop.
    package var description: String {
        "the service cannot listen on \(address) (\(reason)); end what listens there, or choose another address"
    }
}

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
