import NIOSSL
import VaultModel

extension ClientCertificates {
    /// Requires that each private key belongs to the certificate that it is given with.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    func requireMatchingKeys() throws {
        for (_, certificate) in all {
            // A kind of key that this library does not know may still be one that the transport knows.
            guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(certificate.chain.utf8)),
                let key = try? NIOSSLPrivateKey(bytes: Array(certificate.key.utf8), format: .pem)
            else { continue }
            let pair = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            guard (try? NIOSSLContext(configuration: pair)) != nil else {
                throw VaultError(
                    .invalidArgument,
                    "the private key in the file does not belong to its first certificate; give that certificate's key")
            }
        }
    }
}
