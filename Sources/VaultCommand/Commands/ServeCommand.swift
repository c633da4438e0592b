import ArgumentParser
import Foundation
import Logging
import MediaVault
import VaultModel
import VaultService

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the vault to players over HTTP, in the foreground.",
        discussion: """
            Ends on SIGTERM or SIGINT. The command url prints the playback link for a player. With --read-only, and by \
            itself if the vault's folder cannot be written, it plays what is held, asks no origin and changes nothing.
            """)

    @Option(
        help: ArgumentHelp(
            "Address to listen on (MEDIAVAULT_LISTEN; default: 127.0.0.1:8300).", valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "Offline mode of the vault (default: the setting, else online).", valueName: "mode"))
    var mode: ModeArgument?

    @Flag(help: "Same as --mode offline.")
    var offline = false

    @Flag(help: "Play what is held, and store and change nothing, as from a card.")
    var readOnly = false

    @Option(
        name: .customLong("host"), parsing: .singleValue,
        help: ArgumentHelp("Another host name of this service for clients. May be repeated.", valueName: "name"))
    var hosts: [String] = []

    @Option(
        name: .customLong("allow-origin"), parsing: .singleValue,
        help: ArgumentHelp(
            "Origin of web pages that may play: https://kiosk.example. May be repeated.", valueName: "origin"))
    var origins: [String] = []

    @Option(help: ArgumentHelp("TLS certificate and its chain (PEM).", valueName: "file"), completion: .file())
    var tlsCertificate: String?

    @Option(
        help: ArgumentHelp("Private key of the certificate (PEM, without a passphrase).", valueName: "file"),
        completion: .file())
    var tlsKey: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Tell browsers to use TLS only for each --host name, at all ports of it (default: if the port is 443).")
    var hsts: Bool?

    @Option(
        help: ArgumentHelp("Also serve on a socket file, for players that support it.", valueName: "path"),
        completion: .file())
    var mediaSocket: String?

    @Flag(help: "Let what a viewer is being sent go to its end, although it is not shared with them any more.")
    var letFinish = false

    @Flag(help: "Listen beyond this machine even without encryption.")
    var insecure = false

    @OptionGroup(title: "Limits")
    var room: LimitOptions

    @OptionGroup(title: "Log")
    var log: LogOptions

    @OptionGroup var access: VaultAccess

    func validate() throws {
        if offline, let mode, mode.mode != .offline {
            throw ValidationError("--offline and --mode \(mode.name) contradict each other")
        }
        guard !readOnly || mode.map({ $0.mode == .offline }) ?? true else {
            throw ValidationError("--read-only asks no origin; leave out --mode")
        }
        guard try !readOnly || room.limits() == nil else {
            throw ValidationError(
                "--read-only removes nothing; leave out --max-size, --max-age, --min-free and "
                    + "--evict-downloads")
        }
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key must be given together")
        }
        guard hsts != true || tlsCertificate != nil && !hosts.isEmpty else {
            throw ValidationError("--hsts needs --host, --tls-certificate and --tls-key")
        }
    }

    func run() async throws {
        let logger = try log.logger()
        var configuration = ServiceConfiguration()
        configuration.address = try ListenAddress.named(listen) ?? .standard
        configuration.hostNames = hosts
        configuration.allowedOrigins = origins
        configuration.requiresTLSOfBrowsers = hsts
        configuration.isInsecure = insecure
        configuration.letsFinish = letFinish
        let environment = ProcessEnvironment.current
        if let tlsCertificate, let tlsKey {
            configuration.tls = TLSFiles(
                certificate: try environment.absolute(tlsCertificate), key: try environment.absolute(tlsKey))
        }
        configuration.mediaSocket = try mediaSocket.map { try environment.absolute($0) }
        let limits = try room.limits()
        do {
            try await serve(configuration, limits: limits, logger)
            logger.notice("the service has ended")
        } catch let error as VaultError {
            // The error that ends the service is logged as one line, like every other event.
            logger.error("\(error.text)", metadata: ["reason": "\(error.code)"])
            throw AlreadyReported(status: ExitStatus(error.code))
        } catch let error as ListenFailure {
            logger.error("\(error)")
            throw AlreadyReported(status: .failed)
        }
    }

    /// Opens the vault, and serves it until a signal ends the service.
    private func serve(_ given: ServiceConfiguration, limits: StorageLimits?, _ logger: Logger) async throws {
        try await Self.naming(try access.place.vault()) { try await access.place.place().requireNoOwner() }
        let opener = try await access.opener()
        let folder = opener.place.folder
        var configuration = given
        configuration.controlFolder = folder
        configuration.afterPeak = { MemoryTrimming.giveBack() }
        configuration.locking = LockHooks(
            begin: { FreedMemory.overwrite() }, end: { MemoryTrimming.giveBack() })
        let (service, isSecure) = (configuration, configuration.tls != nil)
        let isOpen = Locked(false)
        let serve = { @Sendable (vault: Vault, isMeantToRead: Bool) in
            isOpen.withLock { $0 = true }
            var configuration = service
            configuration.isMeantToRead = isMeantToRead
            // The key is no longer needed, and `keys lock` must leave no key in memory.
            opener.unlock.forget()
            let server = try VaultServer(vault: vault, configuration: configuration, logger: logger) { address in
                let record = ServiceRecord(
                    address.reachable, pid: getpid(), isSecure: isSecure,
                    servesPages: isSecure || service.address.isLoopback)
                await Self.announce(record, of: folder, in: logger)
            }
            defer { ServiceRecord.remove(in: folder) }
            // SIGHUP is handled, because its default action would end the service silently.
            let hangUps = SignalWatch([SIGHUP]) { _ in server.reload() }
            defer { hangUps.end() }
            try await server.run()
        }
        guard !readOnly else {
            logger.notice("only held media is served, and nothing is changed")
            return try await opener.reading(tells: false) { try await serve($0, true) }
        }
        do {
            let mode = offline ? .offline : mode?.mode
            try await Self.naming(folder) {
                try await opener.owning(mode, limits: limits) { try await serve($0, false) }
            }
        } catch let error as VaultError where Self.canRead(after: error) && !isOpen.withLock({ $0 }) {
            let change = error.code == .diskFull ? "space becomes free" : "the vault can be written"
            logger.warning(
                """
                only held media is served and nothing is changed until this service is stopped and started again, \
                even if \(change) earlier
                """, metadata: ["reason": "\(error.code)", "detail": "\(error.text)"])
            try await opener.reading(tells: false) { try await serve($0, error.code != .diskFull) }
        }
    }

    /// Returns whether a vault that could not be opened as its owner can still be read, which is the case on a full
    /// disk or a read-only file system.
    private static func canRead(after error: VaultError) -> Bool {
        error.code == .diskFull || error.hint == .writablePath
    }

    /// Runs `body`. If another service owns the vault, the error that is thrown names that service.
    private static func naming(_ folder: String, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as VaultError where error.code == .owned {
            guard let other = try await ServiceProbe.running(in: folder) else { throw error }
            throw VaultError(
                .owned,
                "the service at \(other.address) (process \(other.pid)) already serves this vault; stop it first")
        }
    }

    /// Announces the service's address to the operator and to other commands.
    private static func announce(_ record: ServiceRecord, of folder: String, in logger: Logger) async {
        do {
            try await BlockingQueue("mediavault.record").run { try record.write(in: folder) }
        } catch {
            // The service runs nevertheless, but other commands cannot find its address by themselves.
            logger.warning("other commands do not find this service by themselves", metadata: ["detail": "\(error)"])
        }
        logger.notice(
            "serving", metadata: ["address": "\(record.address)", "vault": "\(folder)", "version": "\(Vault.version)"])
    }
}
