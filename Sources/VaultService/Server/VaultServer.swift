import Foundation
import Hummingbird
import HummingbirdCore
package import Logging
package import MediaVault
import NIOCore
import ServiceLifecycle
import UnixSignals
import VaultModel

/// The HTTP service of a vault.
package final class VaultServer: Sendable {
    private let address: ListenAddress
    private let group: ServiceGroup
    private let watch: VaultWatch
    private let log: ServiceLogHandler
    private let identity: TLSIdentity?
    let api: APIResponder

    /// Creates a service, which does not listen until it runs.
    ///
    /// - Parameter onListening: called once, as soon as clients can connect, with the address and the port on which the
    ///   service listens.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` if other machines could connect and the
    ///   configuration does not allow that, a host name or page origin is invalid, or the TLS files cannot be used.
    package init(
        vault: Vault, configuration: ServiceConfiguration, logger: Logger,
        onListening: @escaping @Sendable (ListenAddress) async -> Void = { _ in }
    ) throws {
        let address = configuration.address
        guard address.isLoopback || configuration.tls != nil || configuration.isInsecure else {
            throw VaultError(
                .invalidArgument,
                "\(address) can be reached by other machines, and the service uses plain HTTP; listen on 127.0.0.1, "
                    + "use TLS, or allow plain HTTP", hint: .useTLS)
        }
        self.address = address
        var logger = logger
        log = ServiceLogHandler(logger.handler)
        logger.handler = log
        let (controlSettled, controlSettles) = AsyncStream.makeStream(of: Never.self)
        let (socketSettled, socketSettles) = AsyncStream.makeStream(of: Never.self)
        let metrics = ServiceMetrics()
        LinkProgram().serve(vault) { [logger] sentence in logger.warning("\(sentence)") }
        watch = VaultWatch(
            vault: vault, logger: logger, metrics: metrics, isMeantToRead: configuration.isMeantToRead)
        let connections = OpenConnections(
            most: min(configuration.maxConnections, DescriptorShares.connections(of: DescriptorShares.limit ?? 0)),
            limits: configuration.connectionLimits, countedBy: metrics.connections(of: "port"),
            afterPeak: configuration.afterPeak)
        let api = APIResponder(vault: vault, metrics: metrics, log: log.memory, locking: configuration.locking)
        self.api = api
        let responder = ServiceResponder(vault: vault, api: api, gate: try RequestGate(configuration, of: vault))
        let identity = try configuration.tls.map {
            try TLSIdentity($0, every: configuration.tlsCheckInterval, logger: logger)
        }
        self.identity = identity
        let application = Application(
            responder: responder,
            server: connections.server(
                answering: CacheHitResponder(responder, logger: logger).makeHandler, identity),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: OpenConnections.Admission(connections: connections)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? address.port
                vault.noteListening(at: port)
                // The other listeners must be ready first, because the caller may use them as soon as it is notified.
                for await _ in controlSettled {}
                for await _ in socketSettled {}
                // If another listener failed, this one is being ended.
                guard !Task.isCancelled else { return }
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
        // Without a limit, shutdown would wait for as long as a paused player keeps its answer open.
        services.maximumGracefulShutdownDuration = configuration.shutdownLimit
        group = ServiceGroup(configuration: services)
    }

    /// Serves until ``shutDown()`` is called, or SIGTERM or SIGINT arrives.
    ///
    /// The service then accepts no more connections, waits for running answers for as long as the configuration allows,
    /// and returns.
    ///
    /// - Throws: ``ListenFailure`` if the service cannot listen.
    package func run() async throws {
        do {
            try await log.loggingCounts {
                try await watch.logging {
                    api.vault.vault.queue.start()
                    watch.startSubscriptions()
                    let history = Task { [api, watch] in await api.activity.keepHistory(watch.logger) }
                    defer { history.cancel() }
                    try await group.run()
                }
            }
        } catch let failure as IOError {
            throw ListenFailure(address: address, errno: failure.errnoCode)
        } catch is SocketAddressError {
            throw ListenFailure(address: address, reason: "unknown host name")
        }
    }

    /// Reloads the TLS files, as SIGHUP requests. All settings of the vault take effect without a reload. This method
    /// blocks.
    package func reload() {
        if let identity {
            identity.reload()
        } else {
            watch.logger.notice("a hang-up changed nothing: settings take effect by themselves")
        }
    }

    /// Ends the service, as SIGTERM does. ``run()`` returns when the service has ended.
    package func shutDown() async {
        await group.triggerGracefulShutdown()
    }
}

/// Listeners that start and end together.
///
/// Several services in a service group would instead end one after the other.
struct Listeners: Service {
    let all: [any Service]

    func run() async throws {
        try await withThrowingTaskGroup { group in
            for listener in all { group.addTask { try await listener.run() } }
            // A listener that fails ends the others.
            while try await group.next() != nil {}
        }
    }
}

/// The error thrown if the service cannot listen on its address.
package struct ListenFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The address on which the service was to listen.
    package let address: ListenAddress
    /// The reason, in a few words.
    package let reason: String

    init(address: ListenAddress, reason: String) {
        self.address = address
        self.reason = reason
    }

    init(address: ListenAddress, errno: Int32) { self.init(address: address, reason: Self.reason(errno)) }

    /// Returns a description of a system error in a few words.
    static func reason(_ errno: Int32) -> String {
        switch errno {
        case EADDRINUSE, EEXIST: "already in use"
        case EADDRNOTAVAIL: "not an address of this machine"
        case ENOENT, ENOTDIR: "its folder does not exist"
        case EACCES: "permission denied"
        default: "error \(errno)"
        }
    }

    /// One sentence without a full stop.
    package var description: String {
        "the service cannot listen on \(address) (\(reason)); stop the program there, or choose another address"
    }
}
