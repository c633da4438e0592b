import VaultCrypto
package import VaultModel

/// The members of the settings that determine how origins are reached.
///
/// They include proxy passwords, header values, cookies and private keys, so only sealed rows contain them.
struct NetworkMembers: Sendable {
    /// The members; nil if their row does not open.
    private(set) var members: JSONObject?
    /// Whether the members must be written to their row.
    private(set) var isChanged = false

    /// The names of these members.
    static let names: Set = [
        "proxy", "proxyFor", "proxyFromEnvironment", "authorities", "userAgent", "addressFamily", "headers", "cookies",
        "clientCertificates",
    ]

    /// Creates the members from the settings of an older version.
    init(_ members: JSONObject) { self.members = members }

    /// Creates the members from their row. Nil stands for a row that does not open.
    init(ofRow members: JSONObject?) { self.members = members }

    /// Replaces the members.
    mutating func change(to members: JSONObject) { (self.members, isChanged) = (members, true) }

    /// Sets the id of the row that is about to be written.
    fileprivate mutating func identify(as id: JSONValue) { members?["id"] = id }
}

extension VaultSettings {
    /// The number of times that the network members were written to their row, which records the same number; 0 if they
    /// have no row.
    var networkRevision: Int64 {
        guard case .integer(let revision)? = members["networkRevision"] else { return 0 }
        return revision
    }

    /// Returns whether these settings were written together with a network row.
    ///
    /// The revision alone does not prove this, because it is used again after a rebuild from an older backup. Older
    /// versions wrote only the revision, so in their vaults both the settings and the row lack the id.
    func wereWritten(with row: JSONObject) -> Bool {
        row["revision"] == .integer(networkRevision) && row["id"] == members["networkID"]
    }

    /// Records a network row as the one that was written with these settings.
    mutating func count(network row: JSONObject) {
        members["networkRevision"] = row["revision"]
        members["networkID"] = row["id"]
    }

    /// Sets the same new random id in the settings and in the network row that is about to be written with them.
    mutating func bindNetwork() throws {
        guard network.isChanged, network.members != nil else { return }
        let id = JSONValue.string(Base64.encode(try SecureRandom.bytes(16, "id of network settings")))
        members["networkID"] = id
        network.identify(as: id)
    }

    /// Returns the settings for reaching origins.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the members are not valid settings. Nothing may then be
    ///   requested, because a request without the proxy that was set would reveal its target to others.
    package func networkSettings() throws -> NetworkSettings {
        do {
            guard let members = self.network.members else { throw IndexError.damaged }
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
            for rule in try members.optionalObjects("headers") {
                for field in try rule.optionalObjects("fields") {
                    try network.headers.set(
                        try field.string("name"), to: try field.string("value"), for: try rule.string("host"))
                }
            }
            network.cookies = try members.optionalString("cookies").map { try CookieFile($0) }
            for certificate in try members.optionalObjects("clientCertificates") {
                try network.clientCertificates.set(
                    pem: try certificate.string("pem"), for: try certificate.optionalString("host"))
            }
            return network
        } catch {
            throw Self.unreadableNetwork
        }
    }

    /// The error for network members that are not valid settings.
    package static let unreadableNetwork = VaultError(
        .integrity, "the vault's network settings cannot be read; set or unset the proxy, then the others again")

    /// Replaces the settings for reaching origins. A value that equals a new vault's is stored without a member.
    package mutating func setNetwork(_ network: NetworkSettings) {
        // Members that this version does not know are kept.
        var members = self.network.members ?? JSONObject()
        members["proxy"] = network.proxy.map { .string($0.secretText) }
        let rules = network.proxyForHost.sorted { $0.key < $1.key }.map { host, choice in
            JSONValue.object(["host": .string(host), "proxy": .string(choice.secretText)])
        }
        members["proxyFor"] = rules.isEmpty ? nil : .array(rules)
        members["proxyFromEnvironment"] = network.proxyFromEnvironment ? .bool(true) : nil
        members["authorities"] = network.authorities.map { .string($0.pem) }
        members["userAgent"] = network.userAgent.map { .string($0) }
        members["addressFamily"] = network.addressFamily == .any ? nil : .string(network.addressFamily.rawValue)
        let headers = network.headers.all.map { host, headers in
            let fields = headers.fields.map { field in
                JSONValue.object(["name": .string(field.name), "value": .string(field.value)])
            }
            return JSONValue.object(["host": .string(host), "fields": .array(fields)])
        }
        members["headers"] = headers.isEmpty ? nil : .array(headers)
        members["cookies"] = network.cookies.map { .string($0.secretText) }
        let certificates = network.clientCertificates.all.map { host, certificate in
            var members: [String: JSONValue] = ["pem": .string(certificate.secretText)]
            if let host { members["host"] = .string(host) }
            return JSONValue.object(members)
        }
        members["clientCertificates"] = certificates.isEmpty ? nil : .array(certificates)
        let revision = networkRevision + 1
        members["revision"] = .integer(revision)
        self.members["networkRevision"] = .integer(revision)
        self.network.change(to: members)
        // An older version kept the network members among the other settings.
        for name in NetworkMembers.names { self.members[name] = nil }
    }
}
