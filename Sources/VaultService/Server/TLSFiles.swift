import NIOSSL
import VaultModel

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
