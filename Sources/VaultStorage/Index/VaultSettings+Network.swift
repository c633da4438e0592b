package import VaultModel

// How origins are reached. Passwords of proxies are among these members, so only the sealed settings contain them.
extension VaultSettings {
    /// How origins are reached.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the members are no valid settings: then nothing may be asked,
    ///   because a request without the proxy that was set would show its target to others.
    package func network() throws -> NetworkSettings {
        do {
            var network = NetworkSettings()
            network.proxy = try members.optionalString("proxy").map { try ProxyAddress($0) }
            for rule in try members.optionalObjects("proxyFor") {
                try network.setProxy(ProxyChoice(try rule.string("proxy")), for: try rule.string("host"))
            }
            if members["proxyFromEnvironment"] != nil {
                network.proxyFromEnvironment = try members.bool("proxyFromEnvironment")
            }
            try network.setAuthorities(pem: try members.optionalString("authorities"))
            try network.setUserAgent(try members.optionalString("userAgent"))
            if let name = try members.optionalString("addressFamily") {
                guard let family = NetworkSettings.AddressFamily(rawValue: name) else { throw IndexError.damaged }
                network.addressFamily = family
            }
            return network
        } catch {
            throw Self.unreadableNetwork
        }
    }

    /// The error for members that are no valid settings.
    package static let unreadableNetwork = VaultError(
        .integrity, "the vault's network settings cannot be read; set or unset the proxy, then the others again")

    /// Replaces how origins are reached. What is as in a new vault has no member.
    package mutating func setNetwork(_ network: NetworkSettings) {
        members["proxy"] = network.proxy.map { .string($0.secretText) }
        let rules = network.proxyForHost.sorted { $0.key < $1.key }.map { host, choice in
            JSONValue.object(["host": .string(host), "proxy": .string(choice.secretText)])
        }
        members["proxyFor"] = rules.isEmpty ? nil : .array(rules)
        members["proxyFromEnvironment"] = network.proxyFromEnvironment ? .bool(true) : nil
        members["authorities"] = network.authorities.map { .string($0.pem) }
        members["userAgent"] = network.userAgent.map { .string($0) }
        members["addressFamily"] = network.addressFamily == .any ? nil : .string(network.addressFamily.rawValue)
    }
}
