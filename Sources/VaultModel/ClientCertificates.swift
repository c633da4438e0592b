/// A certificate that identifies the vault to an origin, with the rest of its chain and its private key.
public struct ClientCertificate: Hashable, Sendable, CustomStringConvertible {
    /// The certificate and the rest of its chain, as PEM.
    package let chain: String
    /// The private key as PEM, without a passphrase.
    package let key: String
    /// The number of certificates in the chain.
    public let count: Int

    private static let keyLabels: Set = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]

    /// Reads the certificates and the key from a PEM file; everything else in the file is dropped.
    ///
    /// The initializer does not check that the key belongs to the first certificate.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file is larger than
    ///   ``ClientCertificates/maxLength``, has no certificate, does not have exactly one private key, or contains a
    ///   damaged certificate or key, or a key with a passphrase. The message repeats nothing from the file.
    public init(pem text: String) throws {
        guard text.utf8.count <= ClientCertificates.maxLength else { throw ClientCertificates.tooLong }
        guard !text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----"), !text.contains("Proc-Type: 4,ENCRYPTED") else {
            throw VaultError(
                .invalidArgument,
                "the private key in the file has a passphrase; export it without one: it is sealed with the settings")
        }
        guard let blocks = PEM.blocks(Self.keyLabels.union(["CERTIFICATE"]), of: text) else {
            throw VaultError(
                .invalidArgument, "a certificate or private key in the file is damaged; export it again as PEM")
        }
        let (keys, certificates) = (
            blocks.filter { Self.keyLabels.contains($0.label) }, blocks.filter { $0.label == "CERTIFICATE" }
        )
        guard let key = keys.first, keys.count == 1, !certificates.isEmpty else {
            throw VaultError(
                .invalidArgument,
                "the file must have a certificate and one private key; give both in one PEM file, the certificate before "
                    + "those that lead to its authority")
        }
        (chain, self.key, count) = (certificates.map(\.text).joined(), key.text, certificates.count)
    }

    /// The certificates and the key as PEM, as ``init(pem:)`` reads them.
    package var secretText: String { chain + key }

    /// The number of certificates in the chain. Nothing else is shown, because the key is secret.
    public var description: String { "client certificate with a chain of \(count)" }
}

/// A vault's client certificates: some for particular hosts, and one for all other hosts.
///
/// A host that is given with a port means only that port; a host that is given without one means all its ports.
public struct ClientCertificates: Hashable, Sendable {
    private var ofHosts: [HostAuthority: ClientCertificate] = [:]
    /// The certificate for hosts that do not have their own; nil if there is none.
    public private(set) var usual: ClientCertificate?

    /// The maximum size of all hosts, certificates and keys together, in bytes.
    public static let maxLength = 64 << 10

    /// Creates an empty set.
    public init() {}

    /// Sets the certificate for a host, or for all hosts that do not have their own; nil removes it.
    ///
    /// - Parameters:
    ///   - pem: the text of a PEM file, as ``ClientCertificate/init(pem:)`` reads it.
    ///   - host: the host, with a port if only that port is meant; nil means all other hosts.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file or the host is invalid, or the certificates
    ///   would exceed ``maxLength``.
    public mutating func set(pem: String?, for host: String?) throws {
        let certificate = try pem.map { try ClientCertificate(pem: $0) }
        var changed = self
        if let host { changed.ofHosts[try HostAuthority(host)] = certificate } else { changed.usual = certificate }
        let length = changed.all.reduce(0) { $0 + ($1.host?.utf8.count ?? 0) + $1.certificate.secretText.utf8.count }
        guard length <= Self.maxLength else { throw Self.tooLong }
        self = changed
    }

    /// The certificates with their hosts: first the one for all other hosts, then the rest in ascending order of host.
    public var all: [(host: String?, certificate: ClientCertificate)] {
        let single = ofHosts.map { (host: Optional("\($0)"), certificate: $1) }.sorted { $0.host ?? "" < $1.host ?? "" }
        return (usual.map { [(host: nil, certificate: $0)] } ?? []) + single
    }

    /// Returns the certificate for a URL: that of its host and port, or else that of its host, or else ``usual``.
    package func certificate(for url: MediaURL) -> ClientCertificate? {
        ofHosts[HostAuthority(host: url.host, port: url.effectivePort)]
            ?? ofHosts[HostAuthority(host: url.host, port: nil)] ?? usual
    }

    static let tooLong = VaultError(
        .invalidArgument, "client certificates may have at most 64 KiB together; leave out what is not needed")
}
