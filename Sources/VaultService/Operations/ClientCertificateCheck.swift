import NIOSSL
import VaultModel

extension ClientCertificates {
    /// Requires that each private key belongs to its certificate.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if one does not.
    func requireMatchingKeys() throws {
        for (_, certificate) in all {
            // A key that this library cannot read is not checked, because the transport may support other kinds of
            // keys.
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
