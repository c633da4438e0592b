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
    let api: APIResponder

    /// Prepares a service that listens once it runs.
    ///
    /// - Parameter onListening: called once, with the address and the port that the system gave, as soon as clients can
    ///   connect.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` where other machines could connect and
    ///   that was not asked for, or a host name is none.
    package init(
        vault: Vault, configuration: ServiceConfiguration, logger: Logger,
        onListening: @escaping @Sendable (ListenAddress) async -> Void = { _ in }
    ) throws {
        let address = configuration.address
        guard address.isLoopback || configuration.isInsecure else {
            throw VaultError(
                .invalidArgument,
                "\(address) can be reached by other machines and the service speaks plain HTTP: "
                    + "listen on 127.0.0.1, or allow it with --insecure")
        }
        self.address = address
        watch = StoreWatch(vault: vault, logger: logger)
        let (controlSettled, controlSettles) = AsyncStream.makeStream(of: Never.self)
        let api = APIResponder(vault: vault, metrics: ServiceMetrics())
        self.api = api
        let application = Application(
            responder: ServiceResponder(
                vault: vault, api: api, hosts: try HostCheck(hostNames: configuration.hostNames)),
            server: HTTPServerBuilder { responder in
                LoopChannel(
                    base: HTTP1Channel(
                        responder: responder,
                        configuration: .init(idleTimeout: TimeAmount(configuration.idleTimeout))))
            },
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: .maximum(configuration.mostConnections, logger: logger)),
            onServerRunning: { channel in
                // Who is told that the service listens may at once ask by the other way.
                for await _ in controlSettled {}
                await onListening(ListenAddress(host: address.host, port: channel.localAddress?.port ?? address.port))
            },
            logger: logger)
        let control = configuration.controlFolder.map { folder in
            ControlListener(
                api: api, folder: folder, idleTimeout: TimeAmount(configuration.idleTimeout), logger: logger,
                onSettled: { controlSettles.finish() })
        }
        if control == nil { controlSettles.finish() }
        let listeners = Listeners(all: [application] + [control].compactMap(\.self))
        var services = ServiceGroupConfiguration(
            services: [listeners], gracefulShutdownSignals: configuration.endsOnSignals ? [.sigterm, .sigint] : [],
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
        let watching = watch.begin()
        defer { watching.cancel() }
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
