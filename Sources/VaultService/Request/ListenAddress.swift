import VaultModel

/// The host and port on which the service listens.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// The host name or IP address. An IPv6 address has no brackets.
    package let host: String
    /// The port, or 0 to let the system select a free one.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`, such as `127.0.0.1:8300` or `[::1]:8300`.
    ///
    /// - Throws: ``VaultError`` with code ``VaultError/Code/invalidArgument``.
    package init(_ text: String) throws {
        guard let colon = text.lastIndex(of: ":"),
            let port = DecimalNumber.exact(text[text.index(after: colon)...]), port <= 65535
        else { throw Self.malformed(text) }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw Self.malformed(text)
        }
        guard !host.isEmpty else { throw Self.malformed(text) }
        self.init(host: String(host), port: Int(port))
    }

    /// Whether only clients on this machine can connect.
    package var isLoopback: Bool {
        if host == "::1" || host.isEqualIgnoringCase("localhost") { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in DecimalNumber.exact(part).map { $0 <= 255 } ?? false }
    }

    /// The address as written in a URL.
    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    private static func malformed(_ text: String) -> VaultError {
        VaultError(
            .invalidArgument,
            "\(text) is not an address to listen on; write host:port, such as 127.0.0.1:8300 or [::1]:8300")
    }
}
