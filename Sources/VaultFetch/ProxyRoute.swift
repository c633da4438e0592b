import CCurl
package import VaultModel

/// Chooses the proxy, if any, for a request, according to the vault's settings and the environment.
package struct ProxyEnvironment: Hashable, Sendable {
    private let variables: [String: String]

    /// Keeps the environment variables that name proxies.
    ///
    /// `HTTP_PROXY` is not one of them, because a request can set it where a server passes request fields to a process
    /// as variables.
    package init(_ environment: [String: String] = [:]) {
        variables = environment.filter { Self.names.contains($0.key) && !$0.value.isEmpty }
    }

    private static let names: Set = [
        "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
    ]

    /// Returns the proxy for a request; nil if the request is sent directly to its host.
    ///
    /// - Throws: ``OriginFailure`` if a variable does not name a usable proxy, because a direct request would be
    ///   visible to those from whom a proxy hides it.
    package func route(to url: MediaURL, _ settings: NetworkSettings) throws(OriginFailure) -> ProxyAddress? {
        if let choice = settings.proxyForHost[url.host] { return choice.proxy }
        if let proxy = settings.proxy { return proxy }
        guard settings.proxyFromEnvironment, !isExcluded(url.host) else { return nil }
        let candidates = url.scheme == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard let name = (candidates + ["all_proxy", "ALL_PROXY"]).first(where: { variables[$0] != nil }),
            let value = variables[name]
        else { return nil }
        // Other programs treat a proxy without a scheme as an HTTP proxy.
        guard let proxy = try? ProxyAddress(value.contains("://") ? value : "http://" + value) else {
            throw OriginFailure(.unreachable, "the variable \(name) is not scheme, host and port of a proxy")
        }
        return proxy
    }

    /// Returns whether `no_proxy` lists the host, a domain that contains it, or a network that contains its address.
    private func isExcluded(_ host: String) -> Bool {
        guard let list = variables["no_proxy"] ?? variables["NO_PROXY"] else { return false }
        let address = NetworkAddress(host.trimming("[]"))
        let host = host.trimming(".")
        return list.lowercased().split(whereSeparator: { $0 == "," || $0.isWhitespace }).contains { entry in
            if entry == "*" { return true }
            if let address {
                let parts = entry.split(separator: "/", maxSplits: 1)
                guard let network = parts.first.flatMap({ NetworkAddress(String($0).trimming("[]")) }) else {
                    return false
                }
                guard parts.count > 1 else { return network == address }
                return Int(parts[1]).map { address.isIn(network, bits: $0) } ?? false
            }
            let domain = String(entry).trimming(".")
            return !domain.isEmpty && (host == domain || host.hasSuffix("." + domain))
        }
    }
}

/// Decides which hosts a manifest or a redirect may name if a proxy forwards the request.
///
/// The proxy looks up the name, so the connection's address reveals nothing about the host. A host that is recognizably
/// private is refused before the request is sent.
enum ProxiedHost {
    /// Returns whether a host may be on the public Internet, because it is a public address, or a name outside this
    /// machine and its network.
    static func mayBePublic(_ host: String) -> Bool {
        if let address = address(host) { return address.isPublic }
        let labels = host.trimming(".").split(separator: ".")
        // The proxy looks up a name without a dot in its own domain.
        guard labels.count > 1, let last = labels.last.map(String.init) else { return false }
        // A name whose last label begins with a digit is an address in a spelling that only some programs accept.
        guard last.first?.isNumber == false else { return false }
        return !privateDomains.contains(last) && labels.suffix(2) != ["fritz", "box"]
    }

    /// Returns the address that a host denotes, in any spelling; nil if the host is a name.
    static func address(_ host: String) -> NetworkAddress? {
        let text = host.trimming("[]").trimming(".")
        if text == "localhost" || text.hasSuffix(".localhost") { return NetworkAddress("127.0.0.1") }
        return NetworkAddress(text) ?? NetworkAddress(anySpelling: text)
    }

    /// The top-level domains that are not on the public Internet: those of RFC 6761, of RFC 6762 with its appendix G,
    /// and of RFC 9476, those that ICANN has reserved for private use, and those that systems and routers use locally.
    private static let privateDomains: Set = [
        "localhost", "local", "internal", "intranet", "intra", "private", "priv", "corp", "home", "lan", "domain",
        "localdomain", "localdomain4", "localdomain6", "localnet", "dhcp", "svc", "cluster", "test", "invalid", "onion",
        "alt", "arpa",
    ]
}

extension String {
    /// Returns the text without any of these characters at its ends.
    fileprivate func trimming(_ characters: String) -> String {
        let start = drop { characters.contains($0) }
        return start.lastIndex { !characters.contains($0) }.map { String(start[...$0]) } ?? ""
    }
}

extension CurlFailure {
    /// Returns the proxy's failure for a request that was sent to it; nil if the proxy is not to blame.
    ///
    /// - Parameter tunnelStatus: the status in the proxy's response to the request for a tunnel; 0 if the proxy did not
    ///   respond, nil if no tunnel was requested.
    static func failure(ofProxy code: CURLcode, tunnelStatus: Int?, isRefused: Bool) -> OriginFailure? {
        switch (code, tunnelStatus) {
        case (_, 407): proxyCredentials
        case (_, let status?) where status != 0 && !(200...299).contains(status):
            OriginFailure(.unreachable, "the proxy refused the connection with status \(status)")
        case (CURLE_COULDNT_RESOLVE_PROXY, _): OriginFailure(.unreachable, "the proxy's host name was not found")
        case (CURLE_COULDNT_CONNECT, _):
            OriginFailure(
                .unreachable, isRefused ? "the proxy's port refused the connection" : "no connection to the proxy")
        case (CURLE_PROXY, _):
            OriginFailure(
                .unreachable, "the SOCKS proxy refused the connection, or the credentials given for it",
                remedy: "correct the proxy in the settings, or try again later")
        case (CURLE_RECV_ERROR, 0), (CURLE_SEND_ERROR, 0), (CURLE_GOT_NOTHING, 0), (CURLE_WEIRD_SERVER_REPLY, 0):
            OriginFailure(.unreachable, "the proxy broke off when it was asked for a connection")
        default: nil
        }
    }

    /// The failure for a proxy that requires credentials, or does not accept those that it received.
    static let proxyCredentials = OriginFailure(
        .unreachable, "the proxy does not accept the user and password given for it",
        remedy: "correct the proxy in the settings")
}
