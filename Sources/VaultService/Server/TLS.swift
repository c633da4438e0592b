import HummingbirdCore
import Logging
import MediaVault
import NIOCore
import NIOSSL
import ServiceLifecycle
import VaultModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The files of a TLS listener.
package struct TLSFiles: Hashable, Sendable {
    /// The certificate, and those that lead to its authority, in PEM.
    package let certificate: String
    /// Its key, in PEM and without a passphrase.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// What connections are made with: TLS 1.2 and later, HTTP/1.1. Reads the files.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument``.
    func context() throws -> NIOSSLContext {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificate)
        } catch {
            throw Self.unusable("certificate", certificate)
        }
        let privateKey: NIOSSLPrivateKey
        do {
            privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
        } catch {
            throw Self.unusable("key", key)
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw VaultError(
                .invalidArgument, "the TLS key \(key) is not the one of \(certificate); name the right one")
        }
    }

    private static func unusable(_ what: String, _ path: String) -> VaultError {
        VaultError(
            .invalidArgument, "the TLS \(what) \(path) cannot be read; name a file in PEM that has no passphrase")
    }
}

extension TLSFiles {
    /// The two files as they are: another one where either has changed.
    struct Stamp: Hashable, Sendable {
        let certificate: FileStamp?
        let key: FileStamp?
    }

    /// The files as they are now.
    var stamp: Stamp { Stamp(certificate: FileStamp(path: certificate), key: FileStamp(path: key)) }
}

/// The certificate and the key that new connections are made with, read anew when their files have changed.
///
/// A service runs for longer than a certificate is good. The files are looked at now and then: who renews them, or mounts
/// them, need not know the process nor be told to signal it, and a hang-up ends one on a terminal as before. What cannot
/// be used leaves in use what there was, and is logged once; connections that stand go on.
final class TLSIdentity: Service {
    private struct State {
        var context: NIOSSLContext
        var renewal: TLSRenewal
    }

    private let files: TLSFiles
    private let interval: Duration
    private let logger: Logger
    private let state: Locked<State>

    /// Reads the files.
    ///
    /// - Parameter interval: how long it is from one look to the next.
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument`` where they cannot be used.
    init(_ files: TLSFiles, every interval: Duration, logger: Logger) throws {
        self.files = files
        self.interval = interval
        self.logger = logger
        // Taken first: what changes while it is read is read again.
        let renewal = TLSRenewal(read: files.stamp)
        state = Locked(State(context: try files.context(), renewal: renewal))
    }

    /// What a connection is made with that begins now.
    var context: NIOSSLContext { state.withLock { $0.context } }

    /// Looks at the files until the service ends.
    func run() async throws {
        try? await cancelWhenGracefulShutdown { [self] in
            while true {
                try await Task.sleep(for: interval)
                try await BlockingPool.shared.run { [self] in look() }
            }
        }
    }

    /// Looks at the files once, and reads them where they have changed. Blocks.
    func look() {
        let stamp = files.stamp
        guard state.withLock({ $0.renewal.isDue(stamp) }) else { return }
        do {
            let context = try files.context()
            state.withLock { state in
                state.context = context
                state.renewal.succeed(stamp)
            }
            logger.notice("the TLS certificate was read anew")
        } catch {
            guard state.withLock({ $0.renewal.fail(stamp) }) else { return }
            logger.warning(
                "the TLS certificate has changed and the one before stays in use", metadata: ["reason": "\(error)"])
        }
    }
}

/// When the files of a TLS listener are read anew. A value.
struct TLSRenewal {
    /// The files as they were when what is in use was read.
    private var read: TLSFiles.Stamp
    /// The files as they were when they could not be used, and that was told.
    private var told: TLSFiles.Stamp?
    /// The files as they were at the last look.
    private var seen: TLSFiles.Stamp

    /// - Parameter read: the files as they were before they were first read.
    init(read: TLSFiles.Stamp) {
        self.read = read
        seen = read
    }

    /// Whether the files shall be read now.
    mutating func isDue(_ stamp: TLSFiles.Stamp) -> Bool {
        defer { seen = stamp }
        // Who writes two files has done with both when nothing has changed between two looks.
        return stamp != read && stamp == seen
    }

    /// What was read is in use.
    mutating func succeed(_ stamp: TLSFiles.Stamp) { (read, told) = (stamp, nil) }

    /// What was read cannot be used. It is read again at the next look: what failed may be the reading.
    ///
    /// - Returns: whether that is to be told: once for the same files.
    mutating func fail(_ stamp: TLSFiles.Stamp) -> Bool {
        defer { told = stamp }
        return told != stamp
    }
}

/// By what a file is known to be the same as before, without reading it.
struct FileStamp: Hashable, Sendable {
    let device: UInt64
    let number: UInt64
    let size: Int64
    /// When its bytes or its rights last changed: seconds and nanoseconds since 1970.
    let changed: [Int]
}

extension FileStamp {
    /// That of the file that a path leads to; nil where there is none.
    init?(path: String) {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else { return nil }
        #if canImport(Darwin)
        let changed = facts.st_ctimespec
        #else
        let changed = facts.st_ctim
        #endif
        self.init(
            device: UInt64(truncatingIfNeeded: facts.st_dev), number: UInt64(facts.st_ino),
            size: Int64(facts.st_size), changed: [changed.tv_sec, changed.tv_nsec])
    }
}

/// A connection that begins with TLS, by the certificate that is in use when it begins.
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
