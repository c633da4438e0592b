import HummingbirdCore
import Logging
import MediaVault
import NIOCore
import NIOSSL
import ServiceLifecycle
import VaultModel

/// The certificate and key files of a TLS listener.
package struct TLSFiles: Hashable, Sendable {
    /// The path of a PEM file with the certificate, followed by the certificates that lead to its authority.
    package let certificate: String
    /// The path of a PEM file with the private key, without a passphrase.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Reads the files, and returns the context for new connections, which use TLS 1.2 or later and HTTP/1.1.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument``.
    func context() throws -> NIOSSLContext {
        guard let chain = Self.bytes(of: certificate).flatMap({ try? NIOSSLCertificate.fromPEMBytes($0) }) else {
            throw Self.unusable("certificate", certificate)
        }
        guard let privateKey = Self.bytes(of: key).flatMap({ try? NIOSSLPrivateKey(bytes: $0, format: .pem) }) else {
            throw Self.unusable("key", key)
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = Self.suites
        configuration.applicationProtocols = ["http/1.1"]
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw VaultError(
                .invalidArgument,
                "the TLS key \(key) does not match the certificate \(certificate); use the matching key")
        }
    }

    /// The cipher suites for TLS 1.2. All have forward secrecy and authenticated encryption (RFC 9325 §4.2). TLS 1.3
    /// has no suites without them.
    private static let suites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// The maximum length of a file in bytes. It suffices because a chain has a few certificates of a few kilobytes
    /// each.
    private static let maxBytes = 1 << 20

    /// Returns a file's bytes; nil if it is unreadable. Links are followed, because a program that renews certificates
    /// may create one.
    private static func bytes(of path: String) -> [UInt8]? {
        WholeFile.bytes(of: path, atMost: maxBytes, followsLinks: true)
    }

    private static func unusable(_ what: String, _ path: String) -> VaultError {
        guard FileStamp(path: path) != nil else {
            return VaultError(.invalidArgument, "there is no TLS \(what) at \(path); give the path of a PEM file")
        }
        return VaultError(
            .invalidArgument,
            "cannot read the TLS \(what) \(path); use a PEM file of at most 1 MiB, without a passphrase")
    }
}

extension TLSFiles {
    /// The state of both files. Two stamps differ if either file has changed.
    struct Stamp: Hashable, Sendable {
        let certificate: FileStamp?
        let key: FileStamp?
    }

    /// The current state of the files.
    var stamp: Stamp { Stamp(certificate: FileStamp(path: certificate), key: FileStamp(path: key)) }
}

/// The certificate and key for new connections, reloaded when their files change.
///
/// A service runs for longer than its certificate is valid. The files are polled, so a program that renews or mounts
/// them need not signal the process, but SIGHUP reloads them at once. If the new files cannot be used, the previous
/// certificate and key stay in use, and the failure is logged once. Open connections continue.
final class TLSIdentity: Service {
    private struct State {
        var context: NIOSSLContext
        var renewal: TLSRenewal
    }

    private let files: TLSFiles
    private let interval: Duration
    private let logger: Logger
    private let state: Locked<State>

    /// Creates the identity by reading the files.
    ///
    /// - Parameter interval: the time between two checks.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` if the files cannot be used.
    init(_ files: TLSFiles, every interval: Duration, logger: Logger) throws {
        self.files = files
        self.interval = interval
        self.logger = logger
        // The state is recorded before the files are read, so that a change during the read is noticed.
        let renewal = TLSRenewal(read: files.stamp)
        state = Locked(State(context: try files.context(), renewal: renewal))
    }

    /// The context for a new connection.
    var context: NIOSSLContext { state.withLock { $0.context } }

    /// Checks the files at the interval until the service ends.
    func run() async throws {
        try? await cancelWhenGracefulShutdown { [self] in
            while true {
                try await Task.sleep(for: interval)
                try await BlockingPool.shared.run { [self] in look() }
            }
        }
    }

    /// Checks the files once, and reads them if they have changed. This method blocks.
    func look() {
        let stamp = files.stamp
        if state.withLock({ $0.renewal.isDue(stamp) }) { read(stamp) }
    }

    /// Reads the files now, because the operator states that they are complete. This method blocks.
    func reload() { read(files.stamp) }

    private func read(_ stamp: TLSFiles.Stamp) {
        do {
            let context = try files.context()
            state.withLock { state in
                state.context = context
                state.renewal.succeed(stamp)
            }
            logger.notice("the TLS certificate was reloaded")
        } catch {
            guard state.withLock({ $0.renewal.fail(stamp) }) else { return }
            logger.warning(
                "the new TLS certificate cannot be used; the previous one stays in use",
                metadata: ["reason": "\(error)"])
        }
    }
}

/// Decides when to reload a TLS listener's files.
struct TLSRenewal {
    /// The state of the files when the certificate and key in use were read.
    private var read: TLSFiles.Stamp
    /// The state of the files when a failure was last reported.
    private var told: TLSFiles.Stamp?
    /// The state of the files at the last check.
    private var seen: TLSFiles.Stamp

    /// - Parameter read: the state of the files before they were first read.
    init(read: TLSFiles.Stamp) {
        self.read = read
        seen = read
    }

    /// Returns whether to read the files now.
    mutating func isDue(_ stamp: TLSFiles.Stamp) -> Bool {
        defer { seen = stamp }
        // If nothing has changed between two checks, both files are assumed to have been written completely.
        return stamp != read && stamp == seen
    }

    /// Records that the files were read and are now in use.
    mutating func succeed(_ stamp: TLSFiles.Stamp) { (read, told) = (stamp, nil) }

    /// Records that the files could not be used.
    ///
    /// The files are read again at the next check, because the read itself may have failed.
    ///
    /// - Returns: whether to report the failure. It is reported once for each state of the files.
    mutating func fail(_ stamp: TLSFiles.Stamp) -> Bool {
        defer { told = stamp }
        return told != stamp
    }
}

/// A TLS connection, which uses the certificate that is current when the connection begins.
struct SecureChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    let base: Base
    let identity: TLSIdentity

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: identity.context))
        }.flatMap { base.setup(channel: channel, logger: logger) }
    }

    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
