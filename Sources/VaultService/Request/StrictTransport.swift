import VaultModel

/// Decides where browsers are told to come by TLS only from now on (HSTS, RFC 6797).
///
/// A browser applies that to a whole host name, at every port. So by itself the service says it only under a name that is
/// its own: one that the operator gave it, at the port of HTTPS. At another port, the name may be that of a machine whose
/// other services are plain HTTP, and the operator decides.
struct StrictTransport: Hashable, Sendable {
    /// The names that the operator gave the service, but for addresses and this machine's own.
    private let names: Set<String>
    private let atOtherPorts: Bool

    /// Thirty days: a name that goes to a service without TLS is of use again within that time.
    static let policy = "max-age=2592000"
    private static let port = 443

    /// - Parameters:
    ///   - hostNames: the names besides those of this machine, without a port.
    ///   - choice: whether it is said at any port; nil for that of HTTPS alone.
    init(hostNames: [String], isSecure: Bool, choice: Bool?) {
        names = isSecure && choice != false ? Set(hostNames.map { $0.lowercased() }.filter(Self.isName)) : []
        atOtherPorts = choice ?? false
    }

    /// Returns whether an answer says it.
    ///
    /// - Parameters:
    ///   - host: what the request names, with its port.
    ///   - port: that of the listener; nil if it has none.
    func applies(to host: String, port: Int?) -> Bool {
        guard let port, port == Self.port || atOtherPorts else { return false }
        let end = ":\(port)"
        let authority = host.lowercased()
        return names.contains(authority.hasSuffix(end) ? String(authority.dropLast(end.count)) : authority)
    }

    /// Whether a host is a name, rather than an address, and not that of each machine itself (RFC 6761).
    private static func isName(_ host: String) -> Bool {
        let labels = host.split(separator: ".")
        guard let last = labels.last, last != "localhost" else { return false }
        return !host.contains(":") && !last.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
