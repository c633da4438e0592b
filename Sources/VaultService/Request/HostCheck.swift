import MediaVault
import VaultModel

/// Checks the host that a request names.
///
/// Only this check stops a web page whose own host name resolves to this machine (DNS rebinding).
struct HostCheck: Sendable {
    enum Verdict: Hashable {
        case allowed
        /// The `Host` field is missing, empty or repeated.
        case malformed
        /// The field names another host or port.
        case foreign
    }

    private let names: Set<String>
    private let defaultPort: Int

    /// - Parameters:
    ///   - hostNames: the accepted names in addition to those of this machine, without a port.
    ///   - isSecure: whether the listener uses TLS.
    init(hostNames: [String] = [], isSecure: Bool = false) throws {
        defaultPort = isSecure ? 443 : 80
        for name in hostNames {
            guard let url = try? MediaURL("http://\(name)/"), url.host.isEqualIgnoringCase(name) else {
                throw VaultError(
                    .invalidArgument, "\(name) is not a host name; write the name alone, without scheme, port or path")
            }
        }
        names = Set(["127.0.0.1", "localhost", "[::1]"] + hostNames.map { $0.lowercased() })
    }

    /// Checks a request's `Host` fields.
    ///
    /// - Parameter port: the listener's port; nil if it has none, in which case any name is accepted.
    func verdict(on fields: [String], port: Int?) -> Verdict {
        guard fields.count == 1, let field = fields.first, !field.isEmpty else { return .malformed }
        guard let port else { return .allowed }
        let authority = field.lowercased()
        if port == defaultPort, names.contains(authority) { return .allowed }
        let end = ":\(port)"
        return authority.hasSuffix(end) && names.contains(String(authority.dropLast(end.count))) ? .allowed : .foreign
    }
}
