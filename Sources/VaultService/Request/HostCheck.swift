import VaultModel

/// Which `Host` a request may name. Only this stops a page that has its own name lead to this machine (DNS rebinding).
struct HostCheck: Sendable {
    enum Verdict: Hashable {
        case allowed
        /// Missing, empty or repeated.
        case malformed
        /// Another's name, or another port.
        case foreign
    }

    private let names: Set<String>
    private let defaultPort: Int

    /// - Parameters:
    ///   - hostNames: names beside those of this machine, without a port.
    ///   - isSecure: whether the listener speaks TLS.
    init(hostNames: [String] = [], isSecure: Bool = false) throws {
        defaultPort = isSecure ? 443 : 80
        for name in hostNames {
            guard let url = try? MediaURL("http://\(name)/"), url.host.isEqualIgnoringCase(name) else {
                throw VaultError(
                    .invalidArgument, "\(name) is no host name: write the name alone, without scheme, port or path")
            }
        }
        names = Set(["127.0.0.1", "localhost", "[::1]"] + hostNames.map { $0.lowercased() })
    }

    /// Judges the `Host` fields of a request that came to a listener's port; nil is a listener that has none, where any
    /// name will do.
    func verdict(on fields: [String], port: Int?) -> Verdict {
        guard fields.count == 1, let field = fields.first, !field.isEmpty else { return .malformed }
        guard let port else { return .allowed }
        let authority = field.lowercased()
        if port == defaultPort, names.contains(authority) { return .allowed }
        let end = ":\(port)"
        return authority.hasSuffix(end) && names.contains(String(authority.dropLast(end.count))) ? .allowed : .foreign
    }
}
