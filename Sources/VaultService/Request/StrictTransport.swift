import VaultModel

/// Decides when to tell browsers to use only TLS (HSTS, RFC 6797).
///
/// A browser applies this policy to a whole host name, at every port. By default, the service therefore sends it only
/// under a name of its own: one that the operator gave it, at the HTTPS port. At another port, the name may belong to a
/// machine whose other services use plain HTTP, so the operator decides.
struct StrictTransport: Hashable, Sendable {
    /// The names that the operator gave the service, except addresses and `localhost`.
    private let names: Set<String>
    private let atOtherPorts: Bool

    /// Thirty days: a name that moves to a service without TLS becomes usable again within that time.
    static let policy = "max-age=2592000"
    private static let port = 443

    /// - Parameters:
    ///   - hostNames: the names in addition to those of this machine, without a port.
    ///   - choice: whether to send the policy at any port; nil for the HTTPS port only.
    init(hostNames: [String], isSecure: Bool, choice: Bool?) {
        names = isSecure && choice != false ? Set(hostNames.map { $0.lowercased() }.filter(Self.isName)) : []
        atOtherPorts = choice ?? false
    }

    /// Returns whether an answer carries the policy.
    ///
    /// - Parameters:
    ///   - host: the host that the request names, with its port.
    ///   - port: the listener's port; nil if it has none.
    func applies(to host: String, port: Int?) -> Bool {
        guard let port, port == Self.port || atOtherPorts else { return false }
        let end = ":\(port)"
        let authority = host.lowercased()
        return names.contains(authority.hasSuffix(end) ? String(authority.dropLast(end.count)) : authority)
    }

    /// Returns whether a host is a name other than `localhost`, rather than an address (RFC 6761).
    private static func isName(_ host: String) -> Bool {
        let labels = host.split(separator: ".")
        guard let last = labels.last, last != "localhost" else { return false }
        return !host.contains(":") && !last.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
