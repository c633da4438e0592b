/// A certificate by which an origin knows the vault, with those that lead to its authority and its private key.
public struct ClientCertificate: Hashable, Sendable, CustomStringConvertible {
    /// The certificate, and those that lead to its authority, as PEM.
    package let chain: String
    /// The private key as PEM, without a passphrase.
    package let key: String
    /// The number of certificates in the chain.
    public let count: Int

    private static let keyLabels: Set = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]

    /// Reads the certificates and the key of a PEM file; whatever else it contains is dropped.
    ///
    /// That the key belongs to the first certificate is not checked.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if the file is larger than ``ClientCertificates/maxLength``,
    ///   has no certificate, not exactly one private key, a damaged one, or one with a passphrase. The message repeats
    ///   nothing of it.
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

    /// The file as ``init(pem:)`` reads it.
    package var secretText: String { chain + key }

    /// The number of certificates alone: the key is secret.
    public var description: String { "client certificate with a chain of \(count)" }
}

/// The client certificates of a vault: of single hosts, and one for all others.
///
/// A host with a port means that port alone; a host without one means all its ports.
public struct ClientCertificates: Hashable, Sendable {
    private var ofHosts: [HostAuthority: ClientCertificate] = [:]
    /// The certificate for hosts that have none of their own; nil if there is none.
    public private(set) var usual: ClientCertificate?

    /// The most bytes of all of them together.
    public static let maxLength = 64 << 10

    /// Creates an empty set.
    public init() {}

    /// Sets the certificate of a host, or of all hosts that have none of their own; nil removes it.
    ///
    /// - Parameters:
    ///   - pem: a PEM file, as ``ClientCertificate/init(pem:)`` reads it.
    ///   - host: the host, with a port if only that port is meant; nil for all others.
    /// - Throws: ``VaultError`` with code `invalidArgument`.
    public mutating func set(pem: String?, for host: String?) throws {
        let certificate = try pem.map { try ClientCertificate(pem: $0) }
        var changed = self
        if let host { changed.ofHosts[try HostAuthority(host)] = certificate } else { changed.usual = certificate }
        let length = changed.all.reduce(0) { $0 + ($1.host?.utf8.count ?? 0) + $1.certificate.secretText.utf8.count }
        guard length <= Self.maxLength else { throw Self.tooLong }
        self = changed
    }

    /// The certificates with their hosts in ascending order, after the one for all others.
    public var all: [(host: String?, certificate: ClientCertificate)] {
        let single = ofHosts.map { (host: Optional("\($0)"), certificate: $1) }.sorted { $0.host ?? "" < $1.host ?? "" }
        return (usual.map { [(host: nil, certificate: $0)] } ?? []) + single
    }

    /// Returns the certificate for a host and port: its own, that of all ports of the host, or the one for all hosts.
    package func certificate(for url: MediaURL) -> ClientCertificate? {
        ofHosts[HostAuthority(host: url.host, port: url.effectivePort)]
            ?? ofHosts[HostAuthority(host: url.host, port: nil)] ?? usual
    }

    static let tooLong = VaultError(
        .invalidArgument, "client certificates may have at most 64 KiB together; leave out what is not needed")
}
