import VaultModel

/// Decides whether to tell browsers to use only TLS (HSTS, RFC 6797).
///
/// A browser applies this policy to every port of a host name. By default, the service therefore sends the policy only
/// at the HTTPS port, and only for a name that the operator gave the service. A service at another port may share its
/// host name with services that use plain HTTP, so the operator decides there.
struct StrictTransport: Hashable, Sendable {
    /// The host names that the operator gave the service, except addresses and `localhost`.
    private let names: Set<String>
    private let atOtherPorts: Bool

    /// The policy, which applies for thirty days. A name that moves to a service without TLS becomes usable again
    /// within that time.
    static let policy = "max-age=2592000"
    private static let port = 443

    /// - Parameters:
    ///   - hostNames: the service's names in addition to those of this machine, without a port.
    ///   - choice: whether to send the policy at any port; nil for the HTTPS port only.
    init(hostNames: [String], isSecure: Bool, choice: Bool?) {
        names = isSecure && choice != false ? Set(hostNames.map { $0.lowercased() }.filter(Self.isName)) : []
        atOtherPorts = choice ?? false
    }

    /// Returns whether an answer carries the policy.
    ///
    /// - Parameters:
    ///   - host: the host and port that the request names.
    ///   - port: the listener's port; nil if the listener has none.
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
