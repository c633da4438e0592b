import Logging
import MediaVault
import VaultModel
import VaultService

/// A service over a vault that runs during a test.
struct RunningService: Sendable {
    let vault: Vault
    /// The vault's folder.
    let folder: String
    let port: Int
    let server: VaultServer
    /// A token with the scope admin; none if this process only reads the vault.
    let token: String

    /// The value that clients send in `Host`.
    var host: String { "127.0.0.1:\(port)" }

    func client(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBuffer: receiveBuffer)
    }

    /// Returns the request target that plays a URL.
    func target(_ url: MediaURL) -> String { vault.tokens.playbackPath(for: url, expires: 4_000_000_000) }

    /// Sends a request on its own connection.
    func ask(
        _ method: String = "GET", _ url: MediaURL, _ fields: KeyValuePairs<String, String> = [:]
    ) async throws -> (head: RawHead, body: [UInt8])? {
        try await client().ask(method, target(url), host: host, fields: fields)
    }

    /// Runs a service while `body` runs, then shuts it down.
    static func run<Value: Sendable>(
        over test: TestVault, isOffline: Bool = false, hasControl: Bool = false,
        configuration: ServiceConfiguration = ServiceConfiguration(),
        logger: Logger = .silent, limits: StorageLimits? = nil, access: VaultOptions.Access = .owner,
        shutdownLimit: Duration = .milliseconds(200), now: @escaping @Sendable () -> Int64 = WallClock.now,
        _ body: @escaping @Sendable (RunningService) async throws -> Value
    ) async throws -> Value {
        let vault = try await test.open(isOffline: isOffline, limits: limits, access: access, now: now)
        var configuration = configuration
        configuration.address = ListenAddress(host: configuration.address.host, port: 0)
        configuration.endsOnSignals = false
        if hasControl { configuration.controlFolder = test.place.folder }
        configuration.shutdownLimit = shutdownLimit
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        let server = try VaultServer(
            vault: vault, configuration: configuration, logger: logger
        ) { address in
            announce.yield(address.port)
            announce.finish()
        }
        async let running: Void = {
            defer { announce.finish() }
            try await server.run()
        }()
        let result: Result<Value, any Error>
        var port: Int?
        for await announced in ports { port = announced }
        guard let port else {
            try await running
            throw VaultError(.closed, "the service ended before it listened")
        }
        do {
            let token = access == .owner ? try await vault.access.createToken(.admin).text : ""
            result = .success(
                try await body(
                    RunningService(
                        vault: vault, folder: test.place.folder, port: port, server: server, token: token)))
        } catch {
            result = .failure(error)
        }
        await server.shutDown()
        try await running
        await vault.close()
        return try result.get()
    }
}

extension Logger {
    static var silent: Logger { Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() } }
}
